// GEMM of narrow groups: grouped convolutions with 1, 2, 4 or 8 filters per group and at most as
// many channels, and depthwise ones with several filters per channel.
//
//   C[:, i * n + j] = sum over taps t and c < k of A[:, t][i * k + c] * B[t, c][i * n + j]
//
// A vector of C's columns belongs to several groups. For channel c, one permutation gives each lane
// element c of its group's part of A's row, so that no lane is wasted. If a vector has no more lanes
// than a group has columns, the element is broadcast instead.
//
// Accuracy: float sums, tap by tap, with fused multiply-add: at most (taps * k + 4) * 2^-24 *
// sum |a b| from the exact result. A result does not depend on the range that is computed.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_NARROW_GROUPS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_NARROW_GROUPS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/packed/packed_gemm.h"

namespace belay {

// Whether groups of k channels and n filters are narrow.
inline bool IsNarrowGroup(int64_t groups, int64_t k, int64_t n) {
  return groups > 1 && n <= 8 && (n & (n - 1)) == 0 && k >= 1 && k <= n;
}

// C = epilogue(A B) for rows [first_row, last_row) and columns [first_column, last_column) of C.
// first_column is a multiple of 16. Precondition: IsNarrowGroup, row_pointers is set, alpha is 1, and row_bias is null. b:
// depthwise weights of groups * n channels and taps * k taps (packed_weights.h), tap t * k + c.
// `pointers` has space for kTileRows * taps. C overlaps neither A nor B; it may be epilogue.other if
// that is added.
void NarrowGroupsRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                       size_t first_column, size_t last_column);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_NARROW_GROUPS_H_
