// Orders a graph in which each partition counts as one node. Part of the implementation of
// to_backend.h. Source: docs/lowering.md §2.6, §2.7, §2.11.
#ifndef BELAY_EXIR_BACKEND_LOWERING_PARTITION_SCHEDULE_H_
#define BELAY_EXIR_BACKEND_LOWERING_PARTITION_SCHEDULE_H_

#include <vector>

#include "absl/status/status.h"
#include "exir/backend/lowering/partition_plan.h"

namespace belay::exir {

// Fills plan.order with the topological order that is smallest by original position. The position
// of a partition is that of its last node with users outside of it. Edges of plan.in_sequence count
// as data flow. An order exists if and only if all partitions are convex and no two depend on each
// other.
//   kFailedPrecondition  no such order exists: names a tag on the cycle and prints a shortest path
//                        that leaves its partition and comes back
// O((nodes + uses) log nodes).
absl::Status OrderContracted(const Graph& graph, GraphPlan& plan);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_PARTITION_SCHEDULE_H_
