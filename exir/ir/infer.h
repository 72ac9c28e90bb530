// Runs an operator's meta kernel on a node to infer shapes, dtypes and strides of its results.
#ifndef BELAY_EXIR_IR_INFER_H_
#define BELAY_EXIR_IR_INFER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/meta_context.h"

namespace belay::exir {

// Converts an argument for a meta kernel. kUnimplemented for kinds that no operator with a schema
// accepts (graphs, modules).
absl::StatusOr<MetaValue> ToMetaValue(const Graph& graph, const Argument& argument);

// Returns one value per return of the operator; a list for Tensor[].
//   kUnimplemented  the operator has no meta kernel
//   errors of the meta kernel, annotated with the node
// `symbols` may be null if no result has a data-dependent size.
absl::StatusOr<std::vector<MetaValue>> InferOutputs(const Graph& graph, const OpOverload* target,
                                                    const std::vector<Argument>& arguments,
                                                    SymbolSource* symbols);

// Inserts a call with one result before `before`, whose provenance and debug handle it gets. The name
// is that of the operator. Errors of InferOutputs.
absl::StatusOr<ValueId> InsertInferred(GraphEditor& editor, NodeId before, const OpOverload* target,
                                       std::vector<Argument> arguments);

// Returns the type of a value for this result. Precondition: neither none nor a list.
ValueType ToValueType(const MetaValue& value);

// Replaces the strides of each node's results by those that the meta kernel infers, in execution
// order in all graphs, so that layouts are correct after operators change (views replaced by
// copies). Returns whether a type changed.
//
// Dtypes and sizes are not changed but compared; sizes only if both are numbers. A difference is
// kInvalidArgument, because archives may declare wrong types; the message names the node, both
// types and the operator. Nodes without a meta kernel keep their types. O(nodes).
absl::StatusOr<bool> RefreshLayouts(ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_INFER_H_
