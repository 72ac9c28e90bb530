// Prepacked low-bit weights and their scales: one format for all instruction sets, written ahead of
// time. The weights are dequantized in registers (weight_only_gemm.h), or multiplied as integers
// (dynamic_gemm.h).
#ifndef BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_WEIGHTS_H_
#define BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay {

inline constexpr size_t kWeightOnlyPanelColumns = 32;

// Weight format. A weight is (q - zero) * scale of an integer q, or a bfloat16. Packed weights are
// panels of 32 columns, each ceil(k / 8) times
//   kInt8      8 rows of 32 bytes
//   kInt4      32 words (of 32 bits, little-endian), one per column: bits 4 i to 4 i + 3 are q + 8
//              of row 2 i for i < 4, of row 2 (i - 4) + 1 for the others
//   kBFloat16  8 rows of 32 bfloat16
// Incomplete panels and rows are padded with q = 0 or zeros.
//
// There is one scale and zero point per column and group of `group` neighboring rows. `group` is a
// multiple of 8, or at least k, which makes one group. They are floats [panel, group, 32], zeros
// for missing columns.
enum class WeightFormat : uint8_t { kInt8, kInt4, kBFloat16 };

// Bytes of packed weights; floats of packed scales or zero points. nullopt if an argument is
// negative, `group` is neither a multiple of 8 nor at least k, or the result exceeds INT64_MAX / 4.
std::optional<int64_t> PackedWeightsSize(WeightFormat format, int64_t k, int64_t n);
std::optional<int64_t> PackedScalesSize(int64_t k, int64_t n, int64_t group);

// Packs element (p, j) = b[p * row_stride + j * column_stride]. For kInt4 it is between -8 and 7.
void PackInt8Weights(const int8_t* b, int64_t k, int64_t n, int64_t row_stride,
                     int64_t column_stride, int8_t* packed);
void PackInt4Weights(const int8_t* b, int64_t k, int64_t n, int64_t row_stride,
                     int64_t column_stride, uint32_t* packed);
void PackBFloat16Weights(const uint16_t* b, int64_t k, int64_t n, int64_t row_stride,
                         int64_t column_stride, uint16_t* packed);
// Packs the scale of group i and column j: scales[i * group_stride + j * column_stride]. T: float
// or int32_t.
template <class T>
void PackScales(const T* scales, int64_t k, int64_t n, int64_t group, int64_t group_stride,
                int64_t column_stride, T* packed);

// Maximal group size of integer GEMMs, so that the accumulators do not overflow.
inline constexpr int64_t kDynamicTerms = int64_t{1} << 16;
// Bytes of packed weights of integer GEMMs. kInt8 is packed by PackQuantizedMatrix with one tap
// (quantized_weights.h), kInt4 by PackInt4Weights. Scales and the sums of a group's weights are
// packed by PackScales. nullopt on overflow or negative arguments. Precondition: kInt8 or kInt4.
std::optional<int64_t> PackedDynamicSize(WeightFormat format, int64_t k, int64_t n);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_WEIGHT_ONLY_WEIGHTS_H_
