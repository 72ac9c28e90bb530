// Products with a packed right side, the one primitive of linear layers and convolutions.
//
// A register tile of 12 rows by two vectors (6 rows where there are 16 registers) is summed over a K
// block, up to kBlockDepth terms; a group of tiles of A stays in the second-level cache while B's
// panels (packed_weights.h) go by, each fetched while the one before it is multiplied (Goto and van
// de Geijn, 2008). Rows of A are read where they lie: those of a convolution are pieces of an image,
// one per place of the window (Dukhan, 2019, "indirect convolution").
//
// Accuracy: plain sums of floats in order of k, with fused multiply-add: at most (k + 4) * 2^-24 *
// sum |a b| from the exact result. With m <= 3 four or two interleaved sums instead, within the
// same bound. A result depends on neither the range that is computed nor the others: any division of rows and columns among threads
// gives the same bits. Instruction sets differ.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/core/element.h"
#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay {

// Rows of the register tile at most, over all instruction sets.
inline constexpr size_t kTileRows = 12;

// Sets pointers[t * count + i], for each of `taps` taps t, to the k elements that row first + i reads
// at tap `tap` + t. count <= kTileRows.
template <class T>
using RowPointersFn = void (*)(const void* source, size_t first, size_t count, size_t tap,
                               size_t taps, const T** pointers);

// Rows of B in a K block at most, of floats: its panel and the next one are in the second-level cache
// beside the group's tiles. Smaller blocks, whose tiles of A fit the first-level cache, are slower:
// sums go out and in again between them. Sums of bfloat16 have no place to go to, so a block is all.
inline constexpr size_t kBlockDepth = 2304;
// Rows of A at most whose tiles meet a panel of B one behind the other; and if they are copied.
inline constexpr size_t kGroupRows = 24 * kTileRows;
inline constexpr size_t kCopiedRows = 8 * kTileRows;
inline constexpr size_t kLineBytes = 64;

// How far apart copied rows of k elements are.
template <class T>
size_t CopiedRow(size_t k) {
  return k + kLineBytes / sizeof(T);
}
// Elements of the arguments' `tile`, for rows of A `lda` apart: rows that are a multiple of the size
// of a way of the first-level cache apart displace each other, so they are copied. 0 for all others.
template <class T = float>
size_t TileSize(size_t k, size_t lda) {
  constexpr size_t kWay = 4096 / sizeof(T);
  return lda != 0 && lda % kWay == 0 ? kCopiedRows * CopiedRow<T>(k) : 0;
}

template <class T>
struct ProductArgs {
  size_t m = 0, n = 0;
  size_t k = 0;     // of one tap
  size_t taps = 1;  // B has taps * k rows
  // A: rows lda apart (taps == 1), or what `row_pointers` says.
  const T* a = nullptr;
  size_t lda = 0;
  T* tile = nullptr;  // TileSize<T>(k, lda) elements; null when that is 0
  T* copy = nullptr;  // of bfloat16: BFloat16CopySize(k, taps) elements (bfloat16_gemm.h), or null
  RowPointersFn<T> row_pointers = nullptr;
  const void* source = nullptr;
  const T** pointers = nullptr;  // room for kGroupRows * taps
  const T* b = nullptr;          // packed_weights.h: as a matrix, or as pairs
  T* c = nullptr;                // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  // More than one: C[:, i * n + j] = A[:, i * k + p] B_i[p, j], for floats. Rows of A have groups * k
  // elements at each tap, rows of C groups * n; b is PackGroups (packed_weights.h). A row of A reads
  // its group's elements only, so NaN and infinities stay in their group.
  size_t groups = 1;
  // Not 0: rows of C are stored in runs, row r at c + r / run * run_step + r % run * ldc.
  size_t run = 0, run_step = 0;
  EpilogueOn<T> epilogue = {};
};
using PackedGemmArgs = ProductArgs<float>;

// C = epilogue(A B) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of 32. Of several groups, columns are those of `b`: up to
// PackedGroupColumns(groups, n), and last_column is a multiple of 32, too. C overlaps neither A nor B;
// it may be epilogue.other if that is added.
void PackedGemmRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column);
// All of it.
template <class T>
void PackedGemm(const ProductArgs<T>& args) {
  PackedGemmRange(args, 0, args.m, 0,
                  static_cast<size_t>(PackedGroupColumns(static_cast<int64_t>(args.groups),
                                                         static_cast<int64_t>(args.n))));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_
