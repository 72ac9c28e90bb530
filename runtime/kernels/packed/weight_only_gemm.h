// GEMM of floats with a prepacked right operand of fewer bits (weight_only_weights.h), the main
// cost of decoding in language models. Every weight is read once and dequantized in registers.
//
// With m <= kWeightOnlyRows, a panel's weights are decoded in registers and multiplied by blocks of
// up to 12 rows of A, which are interleaved in `scratch`. With more rows, panels are decoded into
// `scratch` and multiplied by PackedGemm (packed_gemm.h).
//
// If the CPU has bfloat16 dot products, a single row is split into a sum of two bfloat16 values for
// int4 weights.
//
// Accuracy: at most (k + 8) * 2^-23 * sum |a w| from the exact result, where w is the unrounded
// dequantized weight. A weight of zero adds nothing. A result depends on m, but not on the range
// that is computed. Instruction sets give different bits.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_GEMM_H_

#include <cstddef>

#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay {

struct WeightOnlyGemmArgs {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  // rows lda apart
  size_t lda = 0;
  WeightFormat format = WeightFormat::kInt8;
  size_t group = 0;               // not for kBFloat16
  const void* b = nullptr;        // packed, aligned to its element type
  const float* scales = nullptr;  // packed; null for kBFloat16
  const float* zeros = nullptr;   // packed; null for none
  float* scratch = nullptr;       // WeightOnlyScratch(m, k, lda) floats, unshared
  float* c = nullptr;             // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  EpilogueF32 epilogue = {};
};

// Rows of A that are multiplied by weights decoded in registers.
inline constexpr size_t kWeightOnlyRows = 16;

// Floats of a row or column of k elements in `scratch`.
inline constexpr size_t WeightOnlyRowFloats(size_t k) { return (k + 15) / 16 * 16; }

inline size_t WeightOnlyScratch(size_t m, size_t k, size_t lda) {
  const size_t depth = WeightOnlyRowFloats(k);
  // A block of rows is padded by at most a third.
  return m <= kWeightOnlyRows ? (m + m / 3) * depth
                              : depth * kWeightOnlyPanelColumns + TileSize(k, lda);
}

// C = epilogue(A W) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of 32. C overlaps neither A nor B; it may be epilogue.other.
void WeightOnlyGemmRange(const WeightOnlyGemmArgs& args, size_t first_row, size_t last_row,
                         size_t first_column, size_t last_column);
// Computes all of C.
inline void WeightOnlyGemm(const WeightOnlyGemmArgs& args) {
  WeightOnlyGemmRange(args, 0, args.m, 0, args.n);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_GEMM_H_
