// GEMM of floats, the primitive of linear layers, convolutions and matmuls. The right operand is
// prepacked, or packed during the call.
//
// A register tile of 12 rows by two vectors (6 rows with 16 registers) accumulates a K block of up
// to kBlockDepth terms. A group of tiles of A stays in the L2 cache and is multiplied by the panels
// of B (packed_weights.h) in turn. Each panel is prefetched while the one before it is multiplied
// (Goto and van de Geijn, 2008). Rows of A are read in place. For a convolution they are addressed
// by an indirection buffer: one pointer per window position (Dukhan, 2019, "indirect convolution").
//
// Accuracy: float sums in order of k with fused multiply-add: at most (k + 4) * 2^-24 * sum |a b|
// from the exact result. With m <= 3, four or two interleaved sums; with a factor, the sum of the K
// blocks' sums, within the same bound. A result does not depend on the range that is computed: any
// division of rows and columns among threads gives the same bits. Instruction sets give different
// bits. Subnormal operands and results count as 0 (runtime/core/flush_subnormals.h), which changes
// a sum by at most 2^-126 Σ (|a| + |b| + 1).
#ifndef BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/core/element.h"
#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {

// Maximal MR (rows of the register tile) over all instruction sets.
inline constexpr size_t kTileRows = 12;

// Sets pointers[t * count + i], for t < taps, to the k elements that row first + i reads at tap
// `tap` + t. count <= kTileRows.
template <class T>
using RowPointersFn = void (*)(const void* source, size_t first, size_t count, size_t tap,
                               size_t taps, const T** pointers);

// Maximal number of rows of B in a K block, for float. A panel of this depth and the next one fit
// the L2 cache together with the group's tiles. Smaller blocks, whose tiles of A fit the L1 cache,
// are slower, since partial sums are stored and loaded between them. bfloat16 has no K blocking.
inline constexpr size_t kBlockDepth = 2304;
// Maximal number of rows of A whose tiles share a panel of B, without and with copied rows.
inline constexpr size_t kGroupRows = 24 * kTileRows;
inline constexpr size_t kCopiedRows = 8 * kTileRows;
inline constexpr size_t kLineBytes = 64;

// Distance between copied rows of k elements.
template <class T>
size_t CopiedRowStride(size_t k) {
  return k + kLineBytes / sizeof(T);
}
// Elements of the arguments' `tile`, for rows of A `lda` apart. If the distance is a multiple of
// the size of an L1 way, rows evict each other and are copied. Otherwise 0.
template <class T = float>
size_t TileSize(size_t k, size_t lda) {
  constexpr size_t kWay = 4096 / sizeof(T);
  return lda != 0 && lda % kWay == 0 ? kCopiedRows * CopiedRowStride<T>(k) : 0;
}

// Packs columns [first, first + count) of a matrix: panel[p * stride + j] = B[p][first + j] for j <
// count; count <= stride.
using PackPanelFn = void (*)(const void* source, size_t first, size_t count, size_t stride,
                             float* panel);

// Floats of ProductArgs::panels for B [k, n]: a panel, or as many as fit kPanelsFloats. Does not
// decrease with k or n.
inline constexpr size_t kPanelsFloats = size_t{32} << 10;
constexpr size_t PanelsSize(size_t k, size_t n) {
  constexpr size_t kPanel = static_cast<size_t>(kPanelColumns);
  const size_t columns = (std::min(n, kPanelsFloats) + kPanel - 1) / kPanel * kPanel;
  return std::max(k * kPanel,
                  std::min(std::min(k, kPanelsFloats / kPanel) * columns, kPanelsFloats));
}

template <class T>
struct ProductArgs {
  size_t m = 0, n = 0;
  size_t k = 0;     // depth of one tap
  size_t taps = 1;  // B has taps * k rows
  // A: rows lda apart (taps == 1), or addressed by `row_pointers`.
  const T* a = nullptr;
  size_t lda = 0;
  T* tile = nullptr;  // TileSize<T>(k, lda) elements; null when that is 0
  T* copy = nullptr;  // bfloat16: BFloat16CopySize(k, taps) elements (bfloat16_gemm.h), or null
  float* widened = nullptr;  // bfloat16: WidenedSize(k, taps) floats (bfloat16_gemm.h), or null
  RowPointersFn<T> row_pointers = nullptr;
  const void* source = nullptr;
  const T** pointers = nullptr;  // space for kGroupRows * taps
  // Address of k zeros that `row_pointers` returns for padding pixels, or null. A tile skips taps
  // where all its rows are this one; with infinite or NaN weights, results then depend on the
  // division among threads.
  const T* zeros = nullptr;
  // B, prepacked (packed_weights.h: matrix or VNNI-2).
  const T* b = nullptr;
  // For floats, instead of a prepacked B, if `panels` is not null. B has rows `ldb` apart at `b`, or
  // is packed by `pack`. `panels` has space for PanelsSize(k * taps, n) floats.
  size_t ldb = 0;
  PackPanelFn pack = nullptr;
  const void* pack_source = nullptr;
  float* panels = nullptr;
  T* c = nullptr;  // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  // C = epilogue(alpha * A B + row_bias): for floats.
  float alpha = 1;
  const float* row_bias = nullptr;  // one per row; null for none
  // More than one: C[:, i * n + j] = A[:, i * k + p] B_i[p, j]. Rows of A have groups * k elements
  // at each tap, rows of C groups * n; b is PackGroups, for bfloat16 PackVnni2Groups
  // (packed_weights.h). Each group reads only its own elements of A, so NaN and infinities stay in
  // their group.
  size_t groups = 1;
  // Not 0: rows of C are stored in runs (RowOffset).
  size_t run = 0, run_step = 0;
  EpilogueOn<T> epilogue = {};

  // Offset of a row of C.
  size_t RowOffset(size_t row) const {
    return run == 0 ? row * ldc : row / run * run_step + row % run * ldc;
  }
};
using PackedGemmArgs = ProductArgs<float>;

// C = epilogue(A B) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of 32. With several groups, columns are those of `b`, up to
// PackedGroupColumns(groups, n), and last_column is a multiple of 32. C overlaps neither A nor B. C
// may be epilogue.other if that is added.
void PackedGemmRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column);
// Computes all of C.
template <class T>
void PackedGemm(const ProductArgs<T>& args) {
  PackedGemmRange(args, 0, args.m, 0,
                  static_cast<size_t>(PackedGroupColumns(static_cast<int64_t>(args.groups),
                                                         static_cast<int64_t>(args.n))));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_
