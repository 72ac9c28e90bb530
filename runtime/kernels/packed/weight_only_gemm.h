// Products of floats with a packed right side of fewer bits, as decoding a language model is made of:
// every weight is read once, and dequantized in registers.
//
// With m <= 4 a panel's weights are decoded group by group and meet A's rows at once; with more rows
// panels are decoded into `scratch`, which PackedGemm (packed_gemm.h) then multiplies.
//
// Where bfloat16 are multiplied two at a time, a row alone meets int4 as the sum of two of them.
//
// Accuracy: at most (k + 8) * 2^-23 * sum |a w| from the exact result, w being the dequantized weight
// before it is rounded. A weight that is zero adds nothing. A result does not depend on the range that
// is computed, only on m. Instruction sets differ.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_GEMM_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/kernels/packed/epilogue.h"
#include "runtime/kernels/packed/packed_gemm.h"

namespace belay {

// What a weight is: (q - zero) * scale of an integer q, or a bfloat16. In memory, one format for all
// instruction sets: panels of 32 columns one behind the other, each ceil(k / 8) times
//   kInt8      8 rows of 32 bytes
//   kInt4      32 words (of 32 bits, little-endian), one per column: bits 4 i to 4 i + 3 are q + 8 of
//              row 2 i for i < 4, of row 2 (i - 4) + 1 for the others
//   kBFloat16  8 rows of 32 bfloat16
// What is missing to whole panels and rows is q = 0 or zeros.
//
// Scales and zero points are one per column and group of `group` neighboring rows, a multiple of 8 (or
// at least k, which makes one group): floats [panel, group, 32], zeros where columns are missing.
enum class WeightFormat : uint8_t { kInt8, kInt4, kBFloat16 };

// Bytes of packed weights; floats of packed scales or zero points. nullopt when a number is negative,
// `group` is neither a multiple of 8 nor at least k, or the result is above INT64_MAX / 4.
std::optional<int64_t> PackedWeightsSize(WeightFormat format, int64_t k, int64_t n);
std::optional<int64_t> PackedScalesSize(int64_t k, int64_t n, int64_t group);

// Element (p, j) lies at b[p * row_stride + j * column_stride]. For kInt4 it is from -8 to 7.
void PackInt8Weights(const int8_t* b, int64_t k, int64_t n, int64_t row_stride,
                     int64_t column_stride, int8_t* packed);
void PackInt4Weights(const int8_t* b, int64_t k, int64_t n, int64_t row_stride,
                     int64_t column_stride, uint32_t* packed);
void PackBFloat16Weights(const uint16_t* b, int64_t k, int64_t n, int64_t row_stride,
                         int64_t column_stride, uint16_t* packed);
// Number (i, j), of group i and column j, lies at scales[i * group_stride + j * column_stride]. Of
// float and int32_t.
template <class T>
void PackScales(const T* scales, int64_t k, int64_t n, int64_t group, int64_t group_stride,
                int64_t column_stride, T* packed);

struct WeightOnlyGemmArgs {
  size_t m = 0, n = 0, k = 0;
  const float* a = nullptr;  // rows lda apart
  size_t lda = 0;
  WeightFormat format = WeightFormat::kInt8;
  size_t group = 0;               // not for kBFloat16
  const void* b = nullptr;        // packed, aligned as its elements are
  const float* scales = nullptr;  // packed; null for kBFloat16
  const float* zeros = nullptr;   // packed: integers from -128 to 127; null for none
  float* scratch = nullptr;       // WeightOnlyScratch(m, k, lda) floats, of this call alone
  float* c = nullptr;             // rows ldc apart, as those of epilogue.other
  size_t ldc = 0;
  EpilogueF32 epilogue = {};
};

// Rows of A that meet weights in registers.
inline constexpr size_t kWeightOnlyRows = 4;
inline constexpr size_t kWeightOnlyPanelColumns = 32;

inline size_t WeightOnlyScratch(size_t m, size_t k, size_t lda) {
  return m <= kWeightOnlyRows ? (k + 15) / 16 * 16 : k * kWeightOnlyPanelColumns + TileSize(k, lda);
}

// C = epilogue(A W) for rows [first_row, last_row) and columns [first_column, last_column);
// first_column is a multiple of 32. C overlaps neither A nor B; it may be epilogue.other.
void WeightOnlyGemmRange(const WeightOnlyGemmArgs& args, size_t first_row, size_t last_row,
                         size_t first_column, size_t last_column);
// All of it.
inline void WeightOnlyGemm(const WeightOnlyGemmArgs& args) {
  WeightOnlyGemmRange(args, 0, args.m, 0, args.n);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_GEMM_H_
