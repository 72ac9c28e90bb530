// How weights of few bits and their scales lie: one format for all instruction sets, made once, ahead
// of time. They are dequantized in registers (weight_only_gemm.h), or multiplied as integers
// (dynamic_gemm.h).
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay {

inline constexpr size_t kWeightOnlyPanelColumns = 32;

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

// Of products of integers: a group is no longer than this, so that its sums fit.
inline constexpr int64_t kDynamicTerms = int64_t{1} << 16;
// Bytes of their packed weights: of kInt8 as PackQuantizedMatrix of one tap makes them
// (quantized_weights.h), of kInt4 as PackInt4Weights. Scales, and the sums of a group's weights, are
// packed as PackScales does. nullopt: too many, or negative. Precondition: kInt8 or kInt4.
std::optional<int64_t> PackedDynamicSize(WeightFormat format, int64_t k, int64_t n);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_WEIGHTS_H_
