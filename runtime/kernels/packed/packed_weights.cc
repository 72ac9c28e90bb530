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

// Packs columns [0, n) of kRows interleaved rows: a line of `columns` columns.
template <int64_t kRows, class T>
void PackLine(const T* rows, int64_t n, int64_t row_stride, int64_t column_stride, int64_t columns,
              T* line) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t r = 0; r < kRows; ++r) {
      line[kRows * j + r] = rows[j * column_stride + r * row_stride];
    }
  }
  std::fill(line + kRows * n, line + kRows * columns, T(0.0f));
}

template <int64_t kRows, class T>
void PackPanels(const T* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
                T* packed) {
  for (int64_t first = 0; first < n; first += kPanelColumns) {
    const int64_t columns = std::min(kPanelColumns, n - first);
    for (int64_t p = 0; p < k; p += kRows, packed += kRows * kPanelColumns) {
      PackLine<kRows>(b + p * row_stride + first * column_stride, columns, row_stride,
                      column_stride, kPanelColumns, packed);
    }
  }
}

template <int64_t kRows, class T>
void PackGroupPanels(const T* b, int64_t groups, int64_t k, int64_t n, int64_t group_stride,
                     int64_t row_stride, int64_t column_stride, T* packed) {
  if (groups == 1 || n > kNarrowGroup) {
    for (int64_t i = 0; i < groups; ++i, b += group_stride) {
      PackPanels<kRows>(b, k, n, row_stride, column_stride, packed);
      packed += *PackedMatrixSize(k, n);
    }
    return;
  }
  for (int64_t first = 0; first < groups; first += 2) {
    for (int64_t p = 0; p < k; p += kRows, packed += kRows * kPanelColumns) {
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t i = first + half;
        const bool is_group = i < groups;
        PackLine<kRows>(is_group ? b + i * group_stride + p * row_stride : nullptr,
                        is_group ? n : 0, row_stride, column_stride, kNarrowGroup,
                        packed + half * kRows * kNarrowGroup);
      }
    }
  }
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

std::optional<int64_t> PackedVnni2Size(int64_t k, int64_t n) {
  return k % 2 == 0 ? PackedMatrixSize(k, n) : std::nullopt;
}

std::optional<int64_t> PackedDepthwiseSize(int64_t channels, int64_t taps) {
  return PaddedSize(taps, channels, kDepthwiseChannels);
}

void PackMatrix(const float* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
                float* packed) {
  PackPanels<1>(b, k, n, row_stride, column_stride, packed);
}

void PackVnni2(const BFloat16* b, int64_t k, int64_t n, int64_t row_stride, int64_t column_stride,
               BFloat16* packed) {
  PackPanels<2>(b, k, n, row_stride, column_stride, packed);
}

void PackGroups(const float* b, int64_t groups, int64_t k, int64_t n, int64_t group_stride,
                int64_t row_stride, int64_t column_stride, float* packed) {
  PackGroupPanels<1>(b, groups, k, n, group_stride, row_stride, column_stride, packed);
}

void PackVnni2Groups(const BFloat16* b, int64_t groups, int64_t k, int64_t n, int64_t group_stride,
                     int64_t row_stride, int64_t column_stride, BFloat16* packed) {
  PackGroupPanels<2>(b, groups, k, n, group_stride, row_stride, column_stride, packed);
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
