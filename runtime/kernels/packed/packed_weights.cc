#include "runtime/kernels/packed/packed_weights.h"

#include <algorithm>
#include <limits>

#include "runtime/core/checked_math.h"

namespace belay {
namespace {

// rows * (count rounded up to whole blocks).
std::optional<int64_t> PaddedSize(int64_t rows, int64_t count, int64_t block) {
  if (rows < 0 || count < 0) return std::nullopt;
  const CheckedInt blocks = FloorDiv(CheckedInt(count) + CheckedInt(block - 1), CheckedInt(block));
  const CheckedInt size = blocks * CheckedInt(block) * CheckedInt(rows);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / int64_t{sizeof(float)};
  if (!size.ok() || size.value() > kMost) return std::nullopt;
  return size.value();
}

}  // namespace

std::optional<int64_t> PackedMatrixSize(int64_t k, int64_t n) {
  return PaddedSize(k, n, kPanelColumns);
}

std::optional<int64_t> PackedGroupsSize(int64_t groups, int64_t k, int64_t n) {
  if (groups < 1 || n < 0) return std::nullopt;
  if (groups == 1) return PackedMatrixSize(k, n);
  const CheckedInt columns =
      n <= kNarrowGroup
          ? FloorDiv(CheckedInt(groups) + CheckedInt(1), CheckedInt(2))
          : CheckedInt(groups) *
                FloorDiv(CheckedInt(n) + CheckedInt(kPanelColumns - 1), CheckedInt(kPanelColumns));
  const CheckedInt all = columns * CheckedInt(kPanelColumns);
  return all.ok() ? PaddedSize(k, all.value(), kPanelColumns) : std::nullopt;
}

std::optional<int64_t> PackedPairsSize(int64_t k, int64_t n) {
  return k % 2 == 0 ? PackedMatrixSize(k, n) : std::nullopt;
}

std::optional<int64_t> PackedDepthwiseSize(int64_t channels, int64_t taps) {
  return PaddedSize(taps, channels, kDepthwiseChannels);
}

void PackMatrix(const float* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
                float* packed) {
  for (int64_t first = 0; first < n; first += kPanelColumns) {
    const int64_t columns = std::min(kPanelColumns, n - first);
    for (int64_t p = 0; p < k; ++p, packed += kPanelColumns) {
      const float* row = b + p * row_stride + first * column_stride;
      for (int64_t j = 0; j < columns; ++j) packed[j] = row[j * column_stride];
      std::fill(packed + columns, packed + kPanelColumns, 0.0f);
    }
  }
}

void PackGroups(const float* b, int64_t groups, int64_t k, int64_t n, int64_t group_stride,
                int64_t row_stride, int64_t column_stride, float* packed) {
  if (groups == 1 || n > kNarrowGroup) {
    for (int64_t i = 0; i < groups; ++i, b += group_stride) {
      PackMatrix(b, k, n, row_stride, column_stride, packed);
      packed += *PackedMatrixSize(k, n);
    }
    return;
  }
  for (int64_t first = 0; first < groups; first += 2) {
    for (int64_t p = 0; p < k; ++p, packed += kPanelColumns) {
      std::fill_n(packed, kPanelColumns, 0.0f);
      for (int64_t i = first; i < std::min(first + 2, groups); ++i) {
        const float* row = b + i * group_stride + p * row_stride;
        float* to = packed + (i - first) * kNarrowGroup;
        for (int64_t j = 0; j < n; ++j) to[j] = row[j * column_stride];
      }
    }
  }
}

void PackPairs(const BFloat16* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
               BFloat16* packed) {
  for (int64_t first = 0; first < n; first += kPanelColumns) {
    const int64_t columns = std::min(kPanelColumns, n - first);
    for (int64_t p = 0; p < k; p += 2, packed += 2 * kPanelColumns) {
      const BFloat16* pair = b + p * row_stride + first * column_stride;
      for (int64_t j = 0; j < columns; ++j) {
        packed[2 * j] = pair[j * column_stride];
        packed[2 * j + 1] = pair[j * column_stride + row_stride];
      }
      std::fill(packed + 2 * columns, packed + 2 * kPanelColumns, BFloat16(0.0f));
    }
  }
}

void PackDepthwise(const float* weight, int64_t channels, int64_t taps, int64_t channel_stride,
                   int64_t tap_stride, float* packed) {
  for (int64_t first = 0; first < channels; first += kDepthwiseChannels) {
    const int64_t count = std::min(kDepthwiseChannels, channels - first);
    for (int64_t t = 0; t < taps; ++t, packed += kDepthwiseChannels) {
      const float* row = weight + first * channel_stride + t * tap_stride;
      for (int64_t c = 0; c < count; ++c) packed[c] = row[c * channel_stride];
      std::fill(packed + count, packed + kDepthwiseChannels, 0.0f);
    }
  }
}

}  // namespace belay
