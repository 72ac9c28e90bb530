// Rows of depthwise.h and bfloat16_depthwise.h. Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_DEPTHWISE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "runtime/kernels/packed/depthwise.h"
#include "runtime/kernels/packed/epilogue-inl.h"
#include "runtime/kernels/packed/packed_weights.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagF32 = hn::CappedTag<float, kDepthwiseChannels>;
using V = hn::Vec<TagF32>;

// Conversions make the code for bfloat16 several times as long. It has blocks of four pixels and of
// one only, also of eight for windows of seven, which gain most from them; and windows of their own
// only with dot products of bfloat16.
template <class T>
constexpr bool kHasAllBlocks = std::is_same_v<T, float>;
template <class T>
constexpr bool kHasWindows = kHasAllBlocks<T> || HWY_NATIVE_DOT_BF16;
// Whether part of a vector is loaded and stored by one instruction.
constexpr bool kHasMaskedParts = !HWY_MEM_OPS_MIGHT_FAULT;

// One or two rows of results, from some channel on.
template <class T>
struct Row {
  const DepthwiseArgsOn<T>* args;
  const T* in;          // first pixel of the image
  const float* weight;  // first tap
  const float* bias;    // or null
  const T* other;       // first pixel; null if not added
  T* out;               // first pixel
  int64_t out_step;     // from the first row of results to the second
  int64_t y;            // first row of the window; may be outside
  size_t count;         // remaining channels of a partial last vector
};

// Load and store fewer elements than a vector has. Without masked instructions, the code for
// bfloat16 is long.
template <class T>
HWY_NOINLINE V LoadPart(const T* from, size_t count) {
  return LoadSome(TagF32(), from, count);
}
template <class T>
HWY_NOINLINE void StorePart(V x, T* to, size_t count) {
  StoreSome(TagF32(), x, to, count);
}

// Accumulates image row j below the window's first row, from column `left` on, into kRows rows of
// results. Each of them multiplies it with kTaps taps, from `first` on, of one row of its window,
// which has `width` taps. Two rows require a square window; they are kStride apart.
template <int kRows, int kTaps, int kStride, int kPixels, bool kBorder, class T, class Load>
HWY_INLINE void AccumulateRow(const Row<T>& row, int64_t left, int64_t j, int64_t first,
                              int64_t width, const Load& load, V (&sum)[kRows][kPixels]) {
  const TagF32 d;
  const DepthwiseArgsOn<T>& g = *row.args;
  const int64_t y = row.y + j * g.dilation_y;
  if (y < 0 || y >= g.height) return;
  // May point before the row; only elements inside are read.
  const T* in = row.in + ((y & g.in_row_mask) * g.width + left) * g.channels;
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
template <int kStride, int kPixels, bool kBorder, class T, class Load>
HWY_INLINE void AccumulateWideRow(const Row<T>& row, int64_t left, int64_t j, const Load& load,
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
template <int kRows, int kWidth, int kStride, int kPixels, bool kBorder, bool kPartial, class T>
HWY_INLINE void Pixels(const Row<T>& row, int64_t x) {
  const TagF32 d;
  const DepthwiseArgsOn<T>& g = *row.args;
  const int64_t c = g.channels;
  const auto load = [&](const auto* p) HWY_ATTR {
    if constexpr (!kPartial) {
      return LoadSome(d, p, hn::Lanes(d));
    } else if constexpr (std::is_same_v<decltype(p), const float*>) {
      return hn::LoadN(d, p, row.count);
    } else if constexpr (kHasMaskedParts) {
      return LoadSome(d, p, row.count);
    } else {
      return LoadPart(p, row.count);
    }
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
      const T* in = row.in + ((y & g.in_row_mask) * g.width + left) * c;
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
  const EpilogueOn<T>& e = g.epilogue;
  const bool linear = IsLinear(e);
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  HWY_UNROLL(kRows)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(kPixels)
    for (int i = 0; i < kPixels; ++i) {
      const int64_t at = r * row.out_step + (x + i) * c;
      V y = sum[r][i];
      if (row.other != nullptr) y = hn::Add(RoundTo<T>(d, y), load(row.other + at));
      if (linear) y = ClampKeepingNaN(d, y, low, high);
      if constexpr (!kPartial) {
        StoreSome(d, y, row.out + at, hn::Lanes(d));
      } else if constexpr (std::is_same_v<T, float>) {
        hn::StoreN(y, d, row.out + at, row.count);
      } else if constexpr (kHasMaskedParts) {
        StoreSome(d, y, row.out + at, row.count);
      } else {
        StorePart(y, row.out + at, row.count);
      }
    }
  }
}

// Computes `pixels` pixels from x on, with fewer channels than lanes. One function for all pixel
// counts and for windows inside and outside of the image.
template <int kRows, int kWidth, int kStride, class T>
HWY_NOINLINE void LastChannels(const Row<T>& row, int64_t x, int pixels) {
  int i = 0;
  if constexpr (kHasAllBlocks<T> || (kHasMaskedParts && kHasWindows<T> && kWidth != 0)) {
    for (; i + 4 <= pixels; i += 4) Pixels<kRows, kWidth, kStride, 4, true, true>(row, x + i);
  }
  for (; i < pixels; ++i) Pixels<kRows, kWidth, kStride, 1, true, true>(row, x + i);
}

// A range of channels that starts at a multiple of the lanes.
struct Channels {
  int64_t first, last;
};

// Computes kPixels pixels from x on for the channels.
template <int kRows, int kWidth, int kStride, int kPixels, bool kBorder, class T>
HWY_INLINE void Block(const Row<T>& first, const Channels& channels, int64_t x) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(TagF32()));
  const DepthwiseArgsOn<T>& g = *first.args;
  const int64_t taps = g.weight_taps == 0 ? g.kernel_height * g.kernel_width : g.weight_taps;
  const auto from_channel = [&](int64_t c) HWY_ATTR {
    Row<T> row = first;
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
  Row<T> row = from_channel(c);
  row.count = static_cast<size_t>(channels.last - c);
  LastChannels<kRows, kWidth, kStride>(row, x, kPixels);
}

// Computes all pixels of one or two rows, for the channels.
template <int kRows, int kWidth, int kStride, class T>
HWY_NOINLINE void RunRow(const Row<T>& row, const Channels& channels) {
  const DepthwiseArgsOn<T>& g = *row.args;
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
  if constexpr (kHasAllBlocks<T> || kWidth == 7) blocks(std::integral_constant<int, 8>());
  blocks(std::integral_constant<int, 4>());
  if constexpr (kHasAllBlocks<T>) blocks(std::integral_constant<int, 2>());
  for (; x < g.out_width; ++x) Block<kRows, kWidth, kStride, 1, true>(row, channels, x);
}

template <class T>
using RowFn = void (*)(const Row<T>&, const Channels&);

template <int kRows, class T>
HWY_INLINE RowFn<T> RowOf(const DepthwiseArgsOn<T>& g) {
  if (g.dilation_x == 1 && g.stride_x == 1) {
    if constexpr (kHasWindows<T>) {
      if (g.kernel_width == 3) return &RunRow<kRows, 3, 1, T>;
      if (g.kernel_width == 5) return &RunRow<kRows, 5, 1, T>;
    }
    if constexpr (kRows == 1 && kHasManyRegisters && kHasWindows<T>) {
      if (g.kernel_width == 7) return &RunRow<1, 7, 1, T>;
    }
    return &RunRow<1, 0, 1, T>;
  }
  if (g.dilation_x == 1 && g.stride_x == 2) {
    if constexpr (kHasWindows<T>) {
      if (g.kernel_width == 3) return &RunRow<kRows, 3, 2, T>;
      if (g.kernel_width == 5) return &RunRow<kRows, 5, 2, T>;
    }
    return &RunRow<1, 0, 2, T>;
  }
  return &RunRow<1, 0, 0, T>;
}

// Returns the function for two rows that share their input, or nullptr if the registers cannot hold
// both rows of accumulators. In that case it is not compiled either.
template <class T>
HWY_INLINE RowFn<T> RowsInPairs(const DepthwiseArgsOn<T>& g) {
  if constexpr (kHasManyRegisters && kHasWindows<T>) {
    if ((g.kernel_width == 3 || g.kernel_width == 5) && g.kernel_height == g.kernel_width &&
        g.stride_y == g.stride_x && g.stride_x <= 2 && g.dilation_x == 1 && g.dilation_y == 1) {
      return RowOf<2>(g);
    }
  }
  return nullptr;
}

// Number of channels that are computed for all rows before the next ones: all, or a multiple of the
// lanes whose window rows stay in the first-level cache while the window moves down.
template <class T>
HWY_INLINE int64_t CachedChannels(const DepthwiseArgsOn<T>& g, int64_t rows) {
  constexpr int64_t kCachedElements = (int64_t{32} << 10) / static_cast<int64_t>(sizeof(T));
  // With few rows, image rows are hardly read again.
  if (rows < 2 * g.kernel_height) return g.channels;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(TagF32()));
  const int64_t window_elements = g.kernel_height * g.width * lanes;
  const int64_t vectors = HWY_MAX(int64_t{1}, kCachedElements / window_elements);
  return HWY_MIN(g.channels, vectors * lanes);
}

template <class T>
HWY_INLINE void DepthwiseRowsOn(const DepthwiseArgsOn<T>& g, int64_t first, int64_t last) {
  const RowFn<T> one = RowOf<1>(g), two = RowsInPairs(g);
  const EpilogueOn<T>& e = g.epilogue;
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

#endif
