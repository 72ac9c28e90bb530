// Converts a partitioner's answer to a plan, or reports why it is invalid. Part of the
// implementation of to_backend.h. Source: docs/lowering.md §2.4–2.9, §11.3–11.7.
#ifndef BELAY_EXIR_BACKEND_LOWERING_PARTITION_CHECK_H_
#define BELAY_EXIR_BACKEND_LOWERING_PARTITION_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/backend/lowering/partition_plan.h"
#include "exir/backend/partitioner.h"

namespace belay::exir {

// `answer` must outlive the plan. Precondition: `program` is verified. Errors are those of
// to_backend.h about the answer. `notes` may be null. O((nodes + uses) log nodes), independent of
// the number of tags.
absl::StatusOr<MethodPlan> PlanPartitions(const ExportedProgram& program,
                                          const PartitionResult& answer,
                                          const StateElsewhere& elsewhere, bool validate,
                                          std::vector<std::string>* notes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_PARTITION_CHECK_H_
