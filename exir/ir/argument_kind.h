// Checks arguments against schema types.
#ifndef BELAY_EXIR_IR_ARGUMENT_KIND_H_
#define BELAY_EXIR_IR_ARGUMENT_KIND_H_

#include <string>

#include "exir/ir/graph.h"
#include "exir/op_definition/schema.h"

namespace belay::exir {

// Returns whether a schema type accepts the argument. A value counts by its type: a symbolic
// integer is an int wherever a number may be symbolic, which is everywhere (schema.h). More
// permissive than the schema, as PyTorch and its exporter are:
//   - numbers are accepted for tensors (add.Tensor(x, 2)),
//   - ints are accepted for floats,
//   - a single element is accepted for a list of declared length.
// Precondition: the values in `argument` are of `graph`.
bool AcceptsArgument(const SchemaType& type, const Graph& graph, const Argument& argument);

// Returns whether an output of this kind with these types of values matches a return of this type:
// lists for lists, symbolic scalars for numbers. For tensors, no value is also accepted (undefined
// tensors).
bool MatchesOutput(const SchemaType& type, const Graph& graph, const NodeOutput& output);

// Returns the kind for messages: "tensor", "int", "list", ….
std::string ArgumentKindName(const Graph& graph, const Argument& argument);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_ARGUMENT_KIND_H_
