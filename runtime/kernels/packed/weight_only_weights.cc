#include "runtime/kernels/packed/weight_only_weights.h"

#include <algorithm>
#include <limits>

#include "runtime/core/checked_math.h"
#include "runtime/kernels/packed/quantized_weights.h"

namespace belay {
namespace {

constexpr int64_t kPanel = kWeightOnlyPanelColumns;
constexpr int64_t kBlock = 8;  // rows

CheckedInt Blocks(int64_t count, int64_t block) {
  return FloorDiv(CheckedInt(count) + CheckedInt(block - 1), CheckedInt(block));
}

std::optional<int64_t> Sized(CheckedInt size) {
  if (!size.ok() || size.value() > std::numeric_limits<int64_t>::max() / 4) return std::nullopt;
  return size.value();
}

// Packs rows of panels.
template <class T>
void PackRows(const T* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
              T* packed) {
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t columns = std::min(kPanel, n - first);
    for (int64_t p = 0; p < (k + kBlock - 1) / kBlock * kBlock; ++p, packed += kPanel) {
      std::fill(packed, packed + kPanel, T{0});
      for (int64_t j = 0; p < k && j < columns; ++j) {
        packed[j] = b[p * row_stride + (first + j) * column_stride];
      }
    }
  }
}

}  // namespace

std::optional<int64_t> PackedWeightsSize(WeightFormat format, int64_t k, int64_t n) {
  if (k < 0 || n < 0) return std::nullopt;
  const int64_t block = format == WeightFormat::kInt4   ? 4
                        : format == WeightFormat::kInt8 ? 8
                                                        : 16;  // bytes of 8 weights
  return Sized(Blocks(k, kBlock) * CheckedInt(block) * Blocks(n, kPanel) * CheckedInt(kPanel));
}

std::optional<int64_t> PackedScalesSize(int64_t k, int64_t n, int64_t group) {
  if (k < 0 || n < 0 || group <= 0 || (group % kBlock != 0 && group < k)) return std::nullopt;
  return Sized(Blocks(k, group) * Blocks(n, kPanel) * CheckedInt(kPanel));
}

void PackInt8Weights(const int8_t* b, int64_t k, int64_t n, int64_t row_stride,
                     int64_t column_stride, int8_t* packed) {
  PackRows(b, k, n, row_stride, column_stride, packed);
}

void PackBFloat16Weights(const uint16_t* b, int64_t k, int64_t n, int64_t row_stride,
                         int64_t column_stride, uint16_t* packed) {
  PackRows(b, k, n, row_stride, column_stride, packed);
}

void PackInt4Weights(const int8_t* b, int64_t k, int64_t n, int64_t row_stride,
                     int64_t column_stride, uint32_t* packed) {
  for (int64_t first = 0; first < n; first += kPanel) {
    for (int64_t p = 0; p < k; p += kBlock) {
      for (int64_t j = first; j < first + kPanel; ++j, ++packed) {
        *packed = 0;
        for (int64_t i = 0; i < kBlock; ++i) {
          const bool exists = j < n && p + i < k;
          const int q = exists ? b[(p + i) * row_stride + j * column_stride] : 0;
          *packed |= (static_cast<uint32_t>(q + 8) & 15u) << (4 * (i % 2 * 4 + i / 2));
        }
      }
    }
  }
}

template <class T>
void PackScales(const T* scales, int64_t k, int64_t n, int64_t group, int64_t group_stride,
                int64_t column_stride, T* packed) {
  const int64_t groups = (k + group - 1) / group;
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t columns = std::min(kPanel, n - first);
    for (int64_t i = 0; i < groups; ++i, packed += kPanel) {
      std::fill(packed, packed + kPanel, T(0));
      for (int64_t j = 0; j < columns; ++j) {
        packed[j] = scales[i * group_stride + (first + j) * column_stride];
      }
    }
  }
}

template void PackScales(const float*, int64_t, int64_t, int64_t, int64_t, int64_t, float*);
template void PackScales(const int32_t*, int64_t, int64_t, int64_t, int64_t, int64_t, int32_t*);

std::optional<int64_t> PackedDynamicSize(WeightFormat format, int64_t k, int64_t n) {
  return format == WeightFormat::kInt4 ? PackedWeightsSize(format, k, n)
                                       : PackedQuantizedMatrixSize(1, k, n);
}

}  // namespace belay
