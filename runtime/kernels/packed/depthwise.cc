#include "runtime/kernels/packed/depthwise.h"

#include <type_traits>

#include "runtime/kernels/packed/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/depthwise.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/core/flush_subnormals.h"
#include "runtime/kernels/packed/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagF32 = hn::CappedTag<float, kDepthwiseChannels>;
using V = hn::Vec<TagF32>;

// One or two rows of results, from some channel on.
struct Row {
  const DepthwiseArgs* args;
  const float* in;      // first pixel of the image
  const float* weight;  // first tap
  const float* bias;    // or null
  const float* other;   // first pixel; null if not added
  float* out;           // first pixel
  int64_t out_step;     // from the first row of results to the second
  int64_t y;            // first row of the window; may be outside
  size_t count;         // remaining channels of a partial last vector
};

// Accumulates image row j below the window's first row, from column `left` on, into kRows rows of
// results. Each of them multiplies it with kTaps taps, from `first` on, of one row of its window,
// which has `width` taps. Two rows require a square window; they are kStride apart.
template <int kRows, int kTaps, int kStride, int kPixels, bool kBorder, class Load>
HWY_INLINE void AccumulateRow(const Row& row, int64_t left, int64_t j, int64_t first, int64_t width,
                              const Load& load, V (&sum)[kRows][kPixels]) {
  const TagF32 d;
  const DepthwiseArgs& g = *row.args;
  const int64_t y = row.y + j * g.dilation_y;
  if (y < 0 || y >= g.height) return;
  // May point before the row; only elements inside are read.
  const float* in = row.in + ((y & g.in_row_mask) * g.width + left) * g.channels;
  V w[kRows][kTaps];
  bool meets[kRows];
  HWY_UNROLL(kRows)
  for (int r = 0; r < kRows; ++r) {
    const int64_t tap = j - r * kStride;
    meets[r] = kRows == 1 || (tap >= 0 && tap < width);
    const float* weight = row.weight + (tap * width + first) * kDepthwiseChannels;
    HWY_UNROLL(kTaps)
    for (int t = 0; t < kTaps; ++t) {
      w[r][t] = meets[r] ? hn::LoadU(d, weight + t * kDepthwiseChannels) : hn::Zero(d);
    }
  }
  // Column by column, so that each column is loaded once.
  constexpr int kColumns = (kPixels - 1) * kStride + kTaps;
  HWY_UNROLL(kColumns)
  for (int column = 0; column < kColumns; ++column) {
    if (kBorder && (left + column < 0 || left + column >= g.width)) continue;
    const V value = load(in + column * g.channels);
    HWY_UNROLL(kRows)
    for (int r = 0; r < kRows; ++r) {
      if (!meets[r]) continue;
      HWY_UNROLL(kPixels)
      for (int i = 0; i < kPixels; ++i) {
        const int t = column - i * kStride;
        if (t >= 0 && t < kTaps) sum[r][i] = hn::MulAdd(value, w[r][t], sum[r][i]);
      }
    }
  }
}

// Accumulates image row j for windows of any width, four taps at a time.
template <int kStride, int kPixels, bool kBorder, class Load>
HWY_INLINE void AccumulateWideRow(const Row& row, int64_t left, int64_t j, const Load& load,
                                  V (&sum)[1][kPixels]) {
  const int64_t width = row.args->kernel_width;
  int64_t t = 0;
  for (; t + 4 <= width; t += 4) {
    AccumulateRow<1, 4, kStride, kPixels, kBorder>(row, left + t, j, t, width, load, sum);
  }
  if (width - t >= 2) {
    AccumulateRow<1, 2, kStride, kPixels, kBorder>(row, left + t, j, t, width, load, sum);
    t += 2;
  }
  if (t < width) {
    AccumulateRow<1, 1, kStride, kPixels, kBorder>(row, left + t, j, t, width, load, sum);
  }
}

// Computes kPixels neighboring results from x on, in kRows rows. kWidth and kStride are those of
// the window; 0 means any. Two rows: see AccumulateRow. kBorder: window positions may be outside on
// the left or right. kPartial: fewer channels than lanes.
template <int kRows, int kWidth, int kStride, int kPixels, bool kBorder, bool kPartial>
HWY_INLINE void Pixels(const Row& row, int64_t x) {
  const TagF32 d;
  const DepthwiseArgs& g = *row.args;
  const int64_t c = g.channels;
  const auto load = [&](const float* p) HWY_ATTR {
    return kPartial ? hn::LoadN(d, p, row.count) : hn::LoadU(d, p);
  };
  V sum[kRows][kPixels];
  const V bias = row.bias == nullptr ? hn::Zero(d) : load(row.bias);
  HWY_UNROLL(kRows)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(kPixels)
    for (int i = 0; i < kPixels; ++i) sum[r][i] = bias;
  }
  const int64_t left = x * g.stride_x - g.padding_x;
  if constexpr (kWidth != 0) {
    if constexpr (kRows == 1) {
      for (int64_t j = 0; j < g.kernel_height; ++j) {
        AccumulateRow<1, kWidth, kStride, kPixels, kBorder>(row, left, j, 0, kWidth, load, sum);
      }
    } else {
      constexpr int kHeight = kWidth + (kRows - 1) * kStride;
      HWY_UNROLL(kHeight)
      for (int j = 0; j < kHeight; ++j) {
        AccumulateRow<kRows, kWidth, kStride, kPixels, kBorder>(row, left, j, 0, kWidth, load, sum);
      }
    }
  } else if constexpr (kStride != 0) {
    for (int64_t j = 0; j < g.kernel_height; ++j) {
      AccumulateWideRow<kStride, kPixels, kBorder>(row, left, j, load, sum);
    }
  } else {
    // Any window: each weight is used for kPixels results, whose additions are independent.
    const float* weight = row.weight;
    const int64_t step = g.stride_x * c;
    for (int64_t j = 0; j < g.kernel_height; ++j, weight += g.kernel_width * kDepthwiseChannels) {
      const int64_t y = row.y + j * g.dilation_y;
      if (y < 0 || y >= g.height) continue;
      // May point before the row; only elements inside are read.
      const float* in = row.in + ((y & g.in_row_mask) * g.width + left) * c;
      for (int64_t t = 0; t < g.kernel_width; ++t, in += g.dilation_x * c) {
        const V w = hn::LoadU(d, weight + t * kDepthwiseChannels);
        const int64_t column = left + t * g.dilation_x;
        HWY_UNROLL(kPixels)
        for (int i = 0; i < kPixels; ++i) {
          const int64_t at = column + i * g.stride_x;
          if (kBorder && (at < 0 || at >= g.width)) continue;
          sum[0][i] = hn::MulAdd(load(in + i * step), w, sum[0][i]);
        }
      }
    }
  }
  const EpilogueF32& e = g.epilogue;
  const bool linear = IsLinear(e);
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  HWY_UNROLL(kRows)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(kPixels)
    for (int i = 0; i < kPixels; ++i) {
      const int64_t at = r * row.out_step + (x + i) * c;
      V y = sum[r][i];
      if (row.other != nullptr) y = hn::Add(y, load(row.other + at));
      if (linear) y = ClampKeepingNaN(d, y, low, high);
      if constexpr (kPartial) {
        hn::StoreN(y, d, row.out + at, row.count);
      } else {
        hn::StoreU(y, d, row.out + at);
      }
    }
  }
}

// Computes `pixels` pixels from x on, with fewer channels than lanes. One function for all pixel
// counts and for windows inside and outside of the image.
template <int kRows, int kWidth, int kStride>
HWY_NOINLINE void LastChannels(const Row& row, int64_t x, int pixels) {
  int i = 0;
  for (; i + 4 <= pixels; i += 4) Pixels<kRows, kWidth, kStride, 4, true, true>(row, x + i);
  for (; i < pixels; ++i) Pixels<kRows, kWidth, kStride, 1, true, true>(row, x + i);
}

// A range of channels that starts at a multiple of the lanes.
struct Channels {
  int64_t first, last;
};

// Computes kPixels pixels from x on for the channels.
template <int kRows, int kWidth, int kStride, int kPixels, bool kBorder>
HWY_INLINE void Block(const Row& first, const Channels& channels, int64_t x) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(TagF32()));
  const DepthwiseArgs& g = *first.args;
  const int64_t taps = g.weight_taps == 0 ? g.kernel_height * g.kernel_width : g.weight_taps;
  const auto from_channel = [&](int64_t c) HWY_ATTR {
    Row row = first;
    row.in += c;
    row.out += c;
    row.weight += c / kDepthwiseChannels * taps * kDepthwiseChannels + c % kDepthwiseChannels;
    if (row.bias != nullptr) row.bias += c;
    if (row.other != nullptr) row.other += c;
    return row;
  };
  int64_t c = channels.first;
  for (; c + lanes <= channels.last; c += lanes) {
    Pixels<kRows, kWidth, kStride, kPixels, kBorder, false>(from_channel(c), x);
  }
  if (c == channels.last) return;
  Row row = from_channel(c);
  row.count = static_cast<size_t>(channels.last - c);
  LastChannels<kRows, kWidth, kStride>(row, x, kPixels);
}

// Computes all pixels of one or two rows, for the channels.
template <int kRows, int kWidth, int kStride>
HWY_NOINLINE void RunRow(const Row& row, const Channels& channels) {
  const DepthwiseArgs& g = *row.args;
  // Results whose windows are inside: [begin, end).
  const int64_t reach = (g.kernel_width - 1) * g.dilation_x;
  const int64_t begin = HWY_MIN(g.out_width, (g.padding_x + g.stride_x - 1) / g.stride_x);
  const int64_t room = g.width - 1 - reach + g.padding_x;  // left edge of the last inner window
  const int64_t end =
      room < 0 ? begin : HWY_MAX(begin, HWY_MIN(g.out_width, room / g.stride_x + 1));
  int64_t x = 0;
  const auto blocks = [&](auto pixels) HWY_ATTR {
    constexpr int kPixels = decltype(pixels)::value;
    for (; x + kPixels <= g.out_width; x += kPixels) {
      if (x >= begin && x + kPixels <= end) {
        Block<kRows, kWidth, kStride, kPixels, false>(row, channels, x);
      } else {
        Block<kRows, kWidth, kStride, kPixels, true>(row, channels, x);
      }
    }
  };
  blocks(std::integral_constant<int, 8>());
  blocks(std::integral_constant<int, 4>());
  blocks(std::integral_constant<int, 2>());
  for (; x < g.out_width; ++x) Block<kRows, kWidth, kStride, 1, true>(row, channels, x);
}

using RowFn = void (*)(const Row&, const Channels&);

template <int kRows>
HWY_INLINE RowFn RowOf(const DepthwiseArgs& g) {
  if (g.dilation_x == 1 && g.stride_x == 1) {
    if (g.kernel_width == 3) return &RunRow<kRows, 3, 1>;
    if (g.kernel_width == 5) return &RunRow<kRows, 5, 1>;
    if constexpr (kRows == 1 && kHasManyRegisters) {
      if (g.kernel_width == 7) return &RunRow<1, 7, 1>;
    }
    return &RunRow<1, 0, 1>;
  }
  if (g.dilation_x == 1 && g.stride_x == 2) {
    if (g.kernel_width == 3) return &RunRow<kRows, 3, 2>;
    if (g.kernel_width == 5) return &RunRow<kRows, 5, 2>;
    return &RunRow<1, 0, 2>;
  }
  return &RunRow<1, 0, 0>;
}

// Returns the function for two rows that share their input, or nullptr if the registers cannot hold
// both rows of accumulators. In that case it is not compiled either.
HWY_INLINE RowFn RowsInPairs(const DepthwiseArgs& g) {
  if constexpr (kHasManyRegisters) {
    if ((g.kernel_width == 3 || g.kernel_width == 5) && g.kernel_height == g.kernel_width &&
        g.stride_y == g.stride_x && g.stride_x <= 2 && g.dilation_x == 1 && g.dilation_y == 1) {
      return RowOf<2>(g);
    }
  }
  return nullptr;
}

// Number of channels that are computed for all rows before the next ones: all, or a multiple of the
// lanes whose window rows stay in the first-level cache while the window moves down.
HWY_INLINE int64_t CachedChannels(const DepthwiseArgs& g, int64_t rows) {
  constexpr int64_t kCachedFloats = 8192;
  // With few rows, image rows are hardly read again.
  if (rows < 2 * g.kernel_height) return g.channels;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(TagF32()));
  const int64_t window_floats = g.kernel_height * g.width * lanes;
  const int64_t vectors = HWY_MAX(int64_t{1}, kCachedFloats / window_floats);
  return HWY_MIN(g.channels, vectors * lanes);
}

void DepthwiseRowsImpl(const DepthwiseArgs& g, int64_t first, int64_t last) {
  const RowFn one = RowOf<1>(g), two = RowsInPairs(g);
  const EpilogueF32& e = g.epilogue;
  const int64_t group = CachedChannels(g, last - first);
  for (int64_t c = 0; c < g.channels; c += group) {
    const Channels channels = {c, HWY_MIN(g.channels, c + group)};
    int64_t rows = 1;
    for (int64_t r = first; r < last; r += rows) {
      const int64_t image = r / g.out_height, y = r % g.out_height;
      rows = two != nullptr && r + 1 < last && y + 1 < g.out_height ? 2 : 1;
      const int64_t row = g.out_width * g.channels;
      const auto place = [&](int64_t y) {
        return (image * g.out_height + (y & g.out_row_mask)) * row;
      };
      const int64_t at = place(y), step = rows == 2 ? place(y + 1) - at : 0;
      (rows == 2 ? two : one)({.args = &g,
                               .in = g.in + image * g.height * g.width * g.channels,
                               .weight = g.weight,
                               .bias = e.bias,
                               .other = e.other == nullptr || e.multiply ? nullptr : e.other + at,
                               .out = g.out + at,
                               .out_step = step,
                               .y = y * g.stride_y - g.padding_y,
                               .count = hn::Lanes(TagF32())},
                              channels);
      if (IsLinear(e)) continue;
      // All channels of a row are contiguous.
      const bool whole = group == g.channels;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t from = at + i * step + c;
        FinishTile(e, e.other == nullptr ? nullptr : e.other + from, g.out + from,
                   static_cast<size_t>(g.channels), static_cast<size_t>(whole ? 1 : g.out_width),
                   static_cast<size_t>(whole ? row : channels.last - c));
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(DepthwiseRowsImpl);
void DepthwiseRows(const DepthwiseArgs& args, int64_t first, int64_t last) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(DepthwiseRowsImpl)(args, first, last);
}

}  // namespace belay
#endif  // HWY_ONCE
