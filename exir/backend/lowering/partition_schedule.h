// Orders a graph in which each partition counts as one node. Part of the implementation of
// to_backend.h. Source: docs/lowering.md §2.6, §2.7, §2.11.
#ifndef BELAY_EXIR_BACKEND_LOWERING_PARTITION_SCHEDULE_H_
#define BELAY_EXIR_BACKEND_LOWERING_PARTITION_SCHEDULE_H_

#include <vector>

#include "absl/status/status.h"
#include "exir/backend/lowering/partition_plan.h"

namespace belay::exir {

// Fills plan.order: of all topological orders the one that is smallest by original position, a
// partition standing where the last of its nodes stood that others use. plan.in_sequence counts
// like data flow. There is one exactly when all partitions are convex and none need each other.
//   kFailedPrecondition  there is none: names a tag on the cycle and prints a shortest path that
//                        leaves its partition and comes back
// O((nodes + uses) log nodes).
absl::Status OrderContracted(const Graph& graph, GraphPlan& plan);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_PARTITION_SCHEDULE_H_
