#include "runtime/kernels/packed/quantized_weights.h"

#include <algorithm>

#include "runtime/core/checked_math.h"

namespace belay {
namespace {

constexpr int64_t kQuad = 4;  // bytes per lane
constexpr int64_t kColumns = kQuantizedPanelColumns;
constexpr int64_t kLine = kColumns * kQuad;
constexpr int64_t kChannels = kQuantizedDepthwiseChannels;
constexpr int64_t kGroup = kChannels * kQuad;

CheckedInt Blocks(int64_t count, int64_t block) {
  return FloorDiv(CheckedInt(count) + CheckedInt(block - 1), CheckedInt(block));
}

std::optional<int64_t> Value(CheckedInt size) {
  if (!size.ok()) return std::nullopt;
  return size.value();
}

}  // namespace

int64_t QuantizedJoinedGroups(int64_t groups, int64_t filters) {
  int64_t joined = 1;
  for (int64_t j = 2; j <= kColumns && joined * filters < kColumns; ++j) {
    if (groups % j == 0) joined = j;
  }
  return joined;
}

std::optional<int64_t> PackedQuantizedMatrixSize(int64_t taps, int64_t k, int64_t n) {
  if (taps < 0 || k < 0 || n < 0) return std::nullopt;
  return Value(CheckedInt(taps) * Blocks(k, kQuad) * Blocks(n, kColumns) * CheckedInt(kLine));
}

std::optional<int64_t> PackedQuantizedGroupsSize(int64_t taps, int64_t groups, int64_t channels,
                                                 int64_t filters) {
  if (groups < 1 || filters < 1) return std::nullopt;
  const int64_t joined = QuantizedJoinedGroups(groups, filters);
  const CheckedInt k = CheckedInt(joined) * channels, n = CheckedInt(joined) * filters;
  if (!k.ok() || !n.ok()) return std::nullopt;
  const std::optional<int64_t> matrix = PackedQuantizedMatrixSize(taps, k.value(), n.value());
  if (!matrix.has_value()) return std::nullopt;
  return Value(CheckedInt(*matrix) * (groups / joined));
}

std::optional<int64_t> PackedQuantizedDepthwiseSize(int64_t channels, int64_t kernel_height,
                                                    int64_t kernel_width) {
  if (channels < 0 || kernel_height < 0 || kernel_width < 0) return std::nullopt;
  return Value(Blocks(channels, kChannels) * Blocks(kernel_height, kQuad) *
               CheckedInt(kernel_width) * CheckedInt(kGroup));
}

void PackQuantizedMatrix(const int8_t* b, int64_t taps, int64_t k, int64_t n, int64_t tap_stride,
                         int64_t row_stride, int64_t column_stride, int8_t* packed) {
  for (int64_t first = 0; first < n; first += kColumns) {
    const int64_t columns = std::min(kColumns, n - first);
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t p = 0; p < k; p += kQuad, packed += kLine) {
        const int8_t* quad = b + t * tap_stride + p * row_stride + first * column_stride;
        const int64_t rows = std::min(kQuad, k - p);
        std::fill(packed, packed + kLine, int8_t{0});
        for (int64_t j = 0; j < columns; ++j) {
          for (int64_t i = 0; i < rows; ++i) {
            packed[kQuad * j + i] = quad[i * row_stride + j * column_stride];
          }
        }
      }
    }
  }
}

void PackQuantizedGroups(const int8_t* b, int64_t taps, int64_t groups, int64_t channels,
                         int64_t filters, int8_t* packed) {
  const int64_t joined = QuantizedJoinedGroups(groups, filters);
  const int64_t k = joined * channels, n = joined * filters;
  for (int64_t matrix = 0; matrix < groups / joined; ++matrix, b += n * taps * channels) {
    for (int64_t first = 0; first < n; first += kColumns) {
      const int64_t columns = std::min(kColumns, n - first);
      for (int64_t t = 0; t < taps; ++t) {
        for (int64_t p = 0; p < k; p += kQuad, packed += kLine) {
          std::fill(packed, packed + kLine, int8_t{0});
          for (int64_t j = 0; j < columns; ++j) {
            const int8_t* filter = b + ((first + j) * taps + t) * channels;
            const int64_t group_row = (first + j) / filters * channels;
            for (int64_t i = 0; i < kQuad; ++i) {
              const int64_t channel = p + i - group_row;
              if (channel >= 0 && channel < channels) packed[kQuad * j + i] = filter[channel];
            }
          }
        }
      }
    }
  }
}

void PackQuantizedDepthwise(const int8_t* weight, int64_t channels, int64_t kernel_height,
                            int64_t kernel_width, int64_t channel_stride, int64_t tap_stride,
                            int8_t* packed) {
  for (int64_t first = 0; first < channels; first += kChannels) {
    const int64_t count = std::min(kChannels, channels - first);
    for (int64_t y = 0; y < kernel_height; y += kQuad) {
      const int64_t rows = std::min(kQuad, kernel_height - y);
      for (int64_t x = 0; x < kernel_width; ++x, packed += kGroup) {
        std::fill(packed, packed + kGroup, int8_t{0});
        for (int64_t c = 0; c < count; ++c) {
          int8_t* quad = packed + c / 4 % 4 * 64 + c / 16 * 16 + c % 4 * kQuad;
          for (int64_t i = 0; i < rows; ++i) {
            quad[i] =
                weight[(first + c) * channel_stride + ((y + i) * kernel_width + x) * tap_stride];
          }
        }
      }
    }
  }
}

}  // namespace belay
