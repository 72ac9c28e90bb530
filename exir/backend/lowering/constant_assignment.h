// Decides which constants and mutations move into which delegate. Part of the implementation of
// to_backend.h. Source: docs/lowering.md §2.4, §2.14, §2.15, §11.4–11.6.
#ifndef BELAY_EXIR_BACKEND_LOWERING_CONSTANT_ASSIGNMENT_H_
#define BELAY_EXIR_BACKEND_LOWERING_CONSTANT_ASSIGNMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exir/backend/lowering/partition_plan.h"
#include "exir/backend/partitioner.h"

namespace belay::exir {

// Fills constants and mutations of the partitions, and which inputs, outputs and operands move into
// delegates. A tagged constant goes to each delegate that uses it, once; no bytes are
// copied. It leaves the program unless a node that is not delegated uses it. The first delegate
// keeps the name, the others use `<name>_copy_0`, …
//
// A tagged input of a subgraph moves into each partition of this subgraph that uses it, under its
// own name. If all its uses move, the operand of the control-flow node moves too, and the constant
// leaves the program unless other uses keep it.
//
// A mutated buffer moves to a delegate only if that delegate has all uses of the buffer and
// computes its new value; otherwise two owners would have separate states. Mutated parameters do
// not move. Tensors that another method writes to do not move, nor do mutated buffers that another
// method also has: methods share state by name, and a delegate's state is private. Each such case
// adds a note. Tags that are not in the map are ignored.
//   kInvalidArgument  a tag on an input that is not a constant, in a subgraph on one that is not
//                     the same constant in every call; two tags on one input; a no_copy constant
//                     with users that do not have its tag
// O(inputs + outputs + uses).
absl::Status AssignConstants(const ExportedProgram& program, const PartitionResult& answer,
                             const StateElsewhere& elsewhere, bool validate, MethodPlan& plan,
                             std::vector<std::string>* notes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_CONSTANT_ASSIGNMENT_H_
