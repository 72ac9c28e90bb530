// GEMM of float rows that are quantized to integers in blocks of 32 elements, with prepacked int8 or
// int4 weights (weight_only_weights.h): prompts of language models.
//
//   y[i, j] = sum over blocks b of s[i, b] * scales[group of b, j] *
//             (sum over p in b of round(a[i, p] / s[i, b]) * q[p, j])
//   s[i, b] = max over p in b of |a[i, p]| / L
//
// L = 127 with one byte per element of A, 127 * 256 with two: 256 * high + low. Inner sums are
// exact. One byte is about three times as fast as float products, two are 1.5 times, on CPUs with
// byte dot products (x86 with AVX-512 VNNI).
//
// Accuracy: an element of A differs from its quantized value by at most s / 2 = max |a| / (2 L) of
// its block, and the sum of the blocks has an error of at most (blocks + 8) * 2^-23 * sum of the
// magnitudes of its addends, before the epilogue. A row with a NaN or an infinity has NaN results.
// Blocks of magnitudes below 2^-100 count as zeros. A result does not depend on the range that is
// computed.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_BLOCK_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_BLOCK_GEMM_H_

#include <cstddef>

#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/weight_only_weights.h"

namespace belay {

inline constexpr size_t kBlockGemmRows = 8;    // that are computed together
inline constexpr size_t kBlockGemmTerms = 32;  // of a block
inline constexpr size_t kBlockGemmColumns = kWeightOnlyPanelColumns;

struct BlockGemmArgs {
  size_t m = 0, n = 0, k = 0;
  WeightFormat format = WeightFormat::kInt8;  // or kInt4
  size_t group = 0;                           // a multiple of 32, or at least k
  size_t bytes = 1;                           // of an element of A, 1 or 2
  const std::byte* rows = nullptr;            // QuantizeBlocks, aligned as float
  const void* b = nullptr;                    // packed, aligned to its element type
  const float* scales = nullptr;              // packed
  std::byte* scratch = nullptr;  // BlockGemmScratch(k) bytes, unshared; faster if aligned to 64
  float* c = nullptr;            // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  EpilogueF32 epilogue = {};
};

// Whether the CPU has byte dot products. The functions below have no effect if it has none.
bool HasBlockGemm();

// Bytes of kBlockGemmRows quantized rows.
inline constexpr size_t BlockRowsBytes(size_t k, size_t bytes) {
  const size_t blocks = (k + kBlockGemmTerms - 1) / kBlockGemmTerms;
  return blocks * kBlockGemmRows * (kBlockGemmTerms * bytes + sizeof(float));
}
inline constexpr size_t BlockGemmScratch(size_t k) {
  const size_t blocks = (k + kBlockGemmTerms - 1) / kBlockGemmTerms;
  return blocks * kBlockGemmColumns * (kBlockGemmTerms + sizeof(float));
}

// Quantizes rows [kBlockGemmRows * i, kBlockGemmRows * (i + 1)) of A [m, k], rows lda apart, to
// to + i * BlockRowsBytes(k, bytes), for i from `first` to before `last`. Rows after m are zeros.
void QuantizeBlocks(const float* a, size_t lda, size_t m, size_t k, WeightFormat format,
                    size_t bytes, size_t first, size_t last, std::byte* to);

// C = epilogue(y) for rows [first_row, last_row) and columns [first_column, last_column);
// first_row is a multiple of kBlockGemmRows, first_column one of kBlockGemmColumns. C may alias
// epilogue.other and overlaps no other operand.
void BlockGemmRange(const BlockGemmArgs& args, size_t first_row, size_t last_row,
                    size_t first_column, size_t last_column);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_BLOCK_GEMM_H_
