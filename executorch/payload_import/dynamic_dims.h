// Determines which dimensions of a payload's arguments vary between calls.
#ifndef BELAY_EXECUTORCH_PAYLOAD_IMPORT_DYNAMIC_DIMS_H_
#define BELAY_EXECUTORCH_PAYLOAD_IMPORT_DYNAMIC_DIMS_H_

#include <vector>

#include "backends/xnnpack/graph.h"

namespace belay::pte {

// Index of the class of a dimension; dimensions of one class have the same size in every call.
inline constexpr int kStaticDim = -1;

// Returns, for each argument and each of its dimensions in memory order, a class (numbered from 0 in
// order of appearance) or kStaticDim. A file only says that a tensor is dynamic, not in which
// dimensions. A dimension is static if its size is 1, if the argument is not dynamic, or if a node
// ties it to a static dimension: to that of a constant, to the channels of an image, to a size in
// the node's own parameters.
//
// `dynamic_arguments` has a flag per argument of the call. O(values + nodes). Precondition: `graph`
// is a result of ReadGraph for a call with as many arguments.
std::vector<std::vector<int>> DynamicDims(const xnnpack::Graph& graph,
                                          const std::vector<bool>& dynamic_arguments);

}  // namespace belay::pte

#endif  // BELAY_EXECUTORCH_PAYLOAD_IMPORT_DYNAMIC_DIMS_H_
