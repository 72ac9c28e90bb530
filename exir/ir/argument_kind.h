// Whether an argument is one that a schema's type takes.
#ifndef BELAY_EXIR_IR_ARGUMENT_KIND_H_
#define BELAY_EXIR_IR_ARGUMENT_KIND_H_

#include <string>

#include "exir/ir/graph.h"
#include "exir/op/schema.h"

namespace belay::exir {

// A value counts by its type: a symbolic integer is an int wherever a number may be symbolic, which
// is everywhere (schema.h). Beyond the letter of the schema, as PyTorch and its exporter do:
//   - numbers stand for tensors (add.Tensor(x, 2)),
//   - ints stand for floats,
//   - a lone element stands for a list of declared length.
// Precondition: the values in `argument` are of `graph`.
bool TakesArgument(const SchemaType& type, const Graph& graph, const Argument& argument);

// Whether an output of this kind and these types of values is what a return of this type gives:
// lists for lists, symbolic scalars for numbers, and for tensors also nothing (undefined tensors).
bool GivesOutput(const SchemaType& type, const Graph& graph, const NodeOutput& output);

// "tensor", "int", "list", …: the kind, for messages.
std::string ArgumentKindName(const Graph& graph, const Argument& argument);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_ARGUMENT_KIND_H_
