// Shape inference and cost of nodes.
#ifndef BELAY_BACKENDS_XNNPACK_NODE_SIZES_H_
#define BELAY_BACKENDS_XNNPACK_NODE_SIZES_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

// Returns the sizes of the node's output for the given input sizes; `sizes[i]` is null for an
// omitted input. All sizes are in memory order, NHWC for image nodes. Result sizes are at least 1,
// or 0 if an input is empty. The number of elements fits into 63 bits.
//   kInvalidArgument  the inputs do not match each other or the node's parameters
absl::StatusOr<Sizes> OutputSizes(const Node& node, absl::Span<const Sizes* const> sizes);

// Whether the node computes element by element from two inputs that broadcast.
bool Broadcasts(NodeType type);

// Bounds of the sizes of inputs that broadcast. `a` and `b` bound the same sizes, also where they
// differ and none is 1: both get the smaller one.
std::pair<Sizes, Sizes> CommonBounds(Sizes a, Sizes b);

// Result sizes of an elementwise node with two inputs. kInvalidArgument if they do not broadcast.
absl::StatusOr<Sizes> BroadcastSizes(const Sizes& a, const Sizes& b);

// Cost of the node in multiply-adds. Saturates.
uint64_t WorkOf(const Node& node, absl::Span<const Sizes* const> sizes, const Sizes& output);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NODE_SIZES_H_
