// The sizes of what nodes compute.
#ifndef BELAY_BACKENDS_XNNPACK_NODE_SIZES_H_
#define BELAY_BACKENDS_XNNPACK_NODE_SIZES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "runtime/core/sizes.h"

namespace belay::xnnpack {

// The sizes of the node's output, by those of its inputs: `sizes[i]` is null for an input that is
// not there. All sizes are in the order of memory, NHWC where the node is one of images; those of
// the result are at least 1, or 0 when an input has no elements, and its number of elements fits in 63
// bits.
//   kInvalidArgument  the inputs do not fit each other or the node's numbers
absl::StatusOr<Sizes> OutputSizes(const Node& node, absl::Span<const Sizes* const> sizes);

// Of an elementwise node of two inputs. kInvalidArgument: they do not fit each other.
absl::StatusOr<Sizes> BroadcastSizes(const Sizes& a, const Sizes& b);

// Multiply-adds, or what takes as long. Saturates.
uint64_t WorkOf(const Node& node, absl::Span<const Sizes* const> sizes, const Sizes& output);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NODE_SIZES_H_
