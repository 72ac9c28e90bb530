// Runs an operator's meta kernel on a node: what shapes, dtypes and strides its results have.
#ifndef BELAY_EXIR_IR_INFER_H_
#define BELAY_EXIR_IR_INFER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op/meta_context.h"

namespace belay::exir {

// The argument as a meta kernel sees it. kUnimplemented for kinds that no operator with a schema
// takes (graphs, modules).
absl::StatusOr<MetaValue> ToMetaValue(const Graph& graph, const Argument& argument);

// One per return of the operator; a list for Tensor[].
//   kUnimplemented  the operator has no meta kernel
//   whatever the meta kernel returns, annotated with the node
// `symbols` may be null when no result has a size that only data decide.
absl::StatusOr<std::vector<MetaValue>> InferOutputs(const Graph& graph, const OpOverload* target,
                                                    const std::vector<Argument>& arguments,
                                                    SymbolSource* symbols);

// The type of a value that is this result. Precondition: not none and not a list.
ValueType ToValueType(const MetaValue& value);

// Replaces the strides of each node's results by those that the meta kernel infers, in execution
// order in all graphs, so that changed operators (views made copies) are followed by right layouts.
// Dtypes and sizes stay as they are: they are compared, and a difference is kInvalidArgument (an
// archive may declare what it wants) naming the node, both types and the operator. Sizes are
// compared where both are numbers. Nodes without a meta kernel keep their types. Returns whether a
// type changed. O(nodes).
absl::StatusOr<bool> RefreshLayouts(ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_INFER_H_
