// Replaces partitions by delegate calls. Part of the implementation of to_backend.h. Source:
// docs/lowering.md §2.10, §2.18, §2.19.
#ifndef BELAY_EXIR_BACKEND_LOWERING_SPLICE_H_
#define BELAY_EXIR_BACKEND_LOWERING_SPLICE_H_

#include <memory>
#include <vector>

#include "exir/backend/lowering/partition_plan.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// The lowered modules of a plan's partitions, in the order of MethodPlan::by_backend.
using LoweredPartitions = std::vector<std::vector<std::shared_ptr<const LoweredBackendModule>>>;

// Returns a copy of the program with delegate calls in place of the partitions, without the
// constants and mutations that the delegates own. Results keep the names of the values they
// replace. Each call gets a debug handle that is unique in the program, its subgraphs and its
// delegates. O(program).
ExportedProgram Splice(const ExportedProgram& program, const MethodPlan& plan,
                       const LoweredPartitions& lowered);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_SPLICE_H_
