// Groups the nodes that a backend takes so that every group is convex and no two need each other.
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_SUPPORT_LEVELS_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_SUPPORT_LEVELS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "exir/ir/graph.h"

namespace belay::exir {

// By node index: the group, or -1 where `supported` is false. A node's group is the largest number
// of changes from supported to unsupported nodes on a way to it, so whatever leaves a group comes
// back into a later one only. Few, large groups; unconnected parts of one group are fine. Groups
// that would be empty are skipped in the numbering. O(nodes + uses).
std::vector<int32_t> SupportLevels(const Graph& graph,
                                   const std::function<bool(NodeId)>& supported);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_SUPPORT_LEVELS_H_
