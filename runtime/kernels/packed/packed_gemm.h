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
// same bound. A result depends on neither the range that is computed nor the others: any division
// of rows and columns among threads gives the same bits. Instruction sets differ.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_

#include <algorithm>
#include <cstddef>

#include "runtime/kernels/packed/epilogue.h"

namespace belay {

// Rows of the register tile at most, over all instruction sets.
inline constexpr size_t kTileRows = 12;

// Sets pointers[t * count + i], for each of `taps` taps t, to the k floats that row first + i reads
// at tap `tap` + t. count <= kTileRows.
using RowPointersFn = void (*)(const void* source, size_t first, size_t count, size_t tap,
                               size_t taps, const float** pointers);

// Rows of B in a K block at most: its panel and the next one are in the second-level cache beside the
// group's tiles. Smaller blocks, whose tiles of A fit the first-level cache, are slower: sums go out
// and in again between them.
inline constexpr size_t kBlockDepth = 2304;
// Rows of A at most whose tiles meet a panel of B one behind the other; and if they are copied.
inline constexpr size_t kGroupRows = 24 * kTileRows;
inline constexpr size_t kCopiedRows = 8 * kTileRows;
inline constexpr size_t kLine = 16;  // floats of a cache line

// How far apart copied rows of k floats are.
inline size_t CopiedRowFloats(size_t k) { return k + kLine; }
// Floats of PackedGemmArgs::tile, for rows of A `lda` apart: rows that are a multiple of the size of
// a way of the first-level cache apart displace each other, so they are copied. 0 for all others.
inline size_t TileFloats(size_t k, size_t lda) {
  constexpr size_t kWay = 1024;  // floats
  return lda != 0 && lda % kWay == 0 ? kCopiedRows * CopiedRowFloats(k) : 0;
}

struct PackedGemmArgs {
  size_t m = 0, n = 0;
  size_t k = 0;     // of one tap
  size_t taps = 1;  // B has taps * k rows
  // A: rows lda apart (taps == 1), or what `row_pointers` says.
  const float* a = nullptr;
  size_t lda = 0;
  float* tile = nullptr;  // TileFloats(k, lda) floats; null when that is 0
  RowPointersFn row_pointers = nullptr;
  const void* source = nullptr;
  const float** pointers = nullptr;  // room for kGroupRows * taps
  const float* b = nullptr;          // PackedMatrixSize(taps * k, n) floats
  float* c = nullptr;                // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  EpilogueF32 epilogue = {};
};

// C = epilogue(A B) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of 32. C overlaps neither A nor B; it may be epilogue.other if that is
// added.
void PackedGemmRange(const PackedGemmArgs& args, size_t first_row, size_t last_row,
                     size_t first_column, size_t last_column);
// All of it.
inline void PackedGemm(const PackedGemmArgs& args) { PackedGemmRange(args, 0, args.m, 0, args.n); }

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_PACKED_GEMM_H_
