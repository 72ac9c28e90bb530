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

// Fills constants and mutations of the partitions of the top graph, and which inputs and outputs
// leave the program. A tagged constant goes to each delegate that uses it, once (no bytes are
// copied), and leaves the program unless something that stays uses it. The first user keeps the
// name, the others see `<name>_copy_0`, …
//
// A mutated buffer goes to a delegate only when that has all uses of the buffer and computes its
// new value; everything else would give two owners their own states. Mutated parameters stay. So does
// what another method writes to, and a mutated buffer that another method has too: methods share state
// by its name, and a delegate's is its own. Each is noted.
// Tags that are not in the map mean nothing.
//   kInvalidArgument  a tag on an input that is no constant, two tags on one input, a no_copy
//                     constant whose users don't all have its tag
// O(inputs + outputs + uses).
absl::Status AssignConstants(const ExportedProgram& program, const PartitionResult& answer,
                             const StateElsewhere& elsewhere, bool validate, MethodPlan& plan,
                             std::vector<std::string>* notes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_CONSTANT_ASSIGNMENT_H_
