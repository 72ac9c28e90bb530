// GEMM whose result has few columns, such as the last convolution of an image decoder.
//
// A vector holds terms of one element instead of columns, so that no lane is wasted: each element is
// the sum of its lanes' sums. Each call transposes B, unless it is one contiguous column.
//
// Accuracy: at most (k + 4) * 2^-24 * sum |a b| from the exact result, as packed_gemm.h. A result
// does not depend on the range that is computed.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_FEW_COLUMNS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_FEW_COLUMNS_H_

#include <cstddef>

#include "runtime/kernels/packed/packed_gemm.h"

namespace belay {

// Maximal number of columns of a prepacked B, and of elements of its transpose, which is on the stack:
// 80 KiB.
inline constexpr size_t kFewColumns = 4;
inline constexpr size_t kFewColumnsElements = 20480;
// Minimal depth of a prepacked B: a vector, or, if the rows of A are contiguous, as many terms per column
// as pay for the sum of the lanes.
inline constexpr size_t kFewColumnsDepth = 16, kFewColumnsDepthPerColumn = 32;
// Maximal number of columns of another B, whose transpose is in `panels`, and its minimal depth.
inline constexpr size_t kFewUnpackedColumns = 4;
inline constexpr size_t kFewUnpackedDepth = 64;

// Whether FewColumnsRange is faster than a panel of columns: B has few columns, depth for a vector,
// and, if it is prepacked, many rows share its transpose.
inline bool HasFewColumns(const PackedGemmArgs& g) {
  if (g.panels != nullptr) {
    return g.n <= kFewUnpackedColumns && g.taps == 1 && g.k >= kFewUnpackedDepth;
  }
  const size_t least =
      g.row_pointers == nullptr ? kFewColumnsDepthPerColumn * g.n : kFewColumnsDepth;
  return g.groups == 1 && g.n <= kFewColumns && g.k >= least && g.m >= 64 &&
         g.k <= kFewColumnsElements / g.n / g.taps;
}

// Computes rows [first_row, last_row) of C. Precondition: HasFewColumns.
void FewColumnsRange(const PackedGemmArgs& args, size_t first_row, size_t last_row);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_FEW_COLUMNS_H_
