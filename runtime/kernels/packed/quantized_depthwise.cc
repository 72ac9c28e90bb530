#include "runtime/kernels/packed/quantized_depthwise.h"

#include <cstddef>
#include <cstring>

#include "runtime/kernels/packed/quantized_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/quantized_depthwise.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kQuad = 4;     // rows of a window per VNNI-4 word
constexpr int64_t kLine = 64;    // bytes
constexpr int64_t kGroup = 256;  // bytes of weights of four rows of one window column

// As many channels as a vector of bytes has lanes, in four vectors of accumulators. Channel c of
// block l of 16 is lane 4 l + c % 4 of vector c / 4. D32: tag of an accumulator vector.
template <class D32>
struct Channels {
  static constexpr size_t kLanes = hn::MaxLanes(D32());

  const QuantizedDepthwiseArgs& args;
  ByteQuantizer<D32> quantizer;
  bool bytes;            // BytesFit
  int64_t first;         // the first channel
  size_t count;          // number of channels; all unless kPartial below
  const int8_t* weight;  // first tap
  HWY_ALIGN int32_t start[4][kLanes];
  HWY_ALIGN float scale[4][kLanes];
  HWY_ALIGN float bias[4][kLanes];
  HWY_ALIGN uint8_t outside[4 * kLanes];  // the input's zero point

  HWY_INLINE Channels(const QuantizedDepthwiseArgs& g, bool fits, int64_t first_channel,
                      size_t channels)
      : args(g), quantizer(g.epilogue), bytes(fits), first(first_channel), count(channels) {
    constexpr int64_t kBlock = kQuantizedDepthwiseChannels;
    const int64_t quads = (g.kernel_height + kQuad - 1) / kQuad;
    weight = g.weight + first / kBlock * quads * g.kernel_width * kGroup + first % kBlock;
    const QuantizedEpilogue& e = g.epilogue;
    const hn::CappedTag<int32_t, 4> d;
    const hn::RebindToFloat<decltype(d)> df;
    const auto sums_factor = hn::Set(d, -e.input_zero_point);
    for (size_t c = 0; c < 4 * kLanes; c += 4) {
      const size_t v = c % 16 / 4, lane = c / 16 * 4, some = c < count ? count - c : 0;
      const int64_t channel = first + static_cast<int64_t>(c);
      hn::Store(hn::LoadN(df, e.scale + channel, some), df, scale[v] + lane);
      hn::Store(e.bias == nullptr ? hn::Zero(df) : hn::LoadN(df, e.bias + channel, some), df,
                bias[v] + lane);
      const auto weight_sums =
          e.weight_sums == nullptr ? hn::Zero(d) : hn::LoadN(d, e.weight_sums + channel, some);
      hn::Store(hn::Mul(weight_sums, sums_factor), d, start[v] + lane);
    }
    std::memset(outside, e.input_zero_point, sizeof(outside));
  }
};

// Constructors are explicit: on Arm, implicit ones would be compiled without the target's features.
template <class D32>
struct Accumulators {
  HWY_INLINE Accumulators() {}
  hn::Vec<D32> at[4];
};
template <class D32>
struct Pixels {
  HWY_INLINE Pixels() {}
  hn::Vec<hn::Repartition<uint8_t, D32>> at[4];
};

// Four vertically adjacent rows of the image, or of the padding outside of it.
struct Rows {
  const uint8_t* at[4];  // channel `first` of column 0
  int64_t step[4];       // distance between columns
};

template <class D32>
HWY_INLINE Rows RowsOf(const Channels<D32>& c, const uint8_t* image, int64_t y, int64_t quad) {
  const QuantizedDepthwiseArgs& g = c.args;
  Rows rows;
  for (int64_t i = 0; i < kQuad; ++i) {
    const int64_t j = quad * kQuad + i, row = y * g.stride_y - g.padding_y + j * g.dilation_y;
    // Weights beyond the window are zeros.
    const bool inside = j < g.kernel_height && row >= 0 && row < g.height;
    rows.at[i] = inside ? image + row * g.width * g.channels + c.first : c.outside;
    rows.step[i] = inside ? g.channels : 0;
  }
  return rows;
}

// Interleaves the bytes of column x of four rows, so that those of a channel are adjacent.
template <class D32, bool kPartial>
HWY_INLINE Pixels<D32> Interleaved(const Channels<D32>& c, const Rows& rows, int64_t x) {
  const hn::Repartition<uint8_t, D32> d8;
  const hn::Repartition<uint16_t, D32> d16;
  Pixels<D32> pixels;
  if (x < 0 || x >= c.args.width) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < 4; ++v) pixels.at[v] = hn::Load(d8, c.outside);
    return pixels;
  }
  hn::Vec<decltype(d8)> row[4];
  HWY_UNROLL(4)
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t* from = rows.at[i] + x * rows.step[i];
    row[i] = kPartial ? hn::LoadN(d8, from, c.count) : hn::LoadU(d8, from);
  }
  const auto low01 = hn::BitCast(d16, hn::InterleaveLower(d8, row[0], row[1])),
             high01 = hn::BitCast(d16, hn::InterleaveUpper(d8, row[0], row[1])),
             low23 = hn::BitCast(d16, hn::InterleaveLower(d8, row[2], row[3])),
             high23 = hn::BitCast(d16, hn::InterleaveUpper(d8, row[2], row[3]));
  pixels.at[0] = hn::BitCast(d8, hn::InterleaveLower(d16, low01, low23));
  pixels.at[1] = hn::BitCast(d8, hn::InterleaveUpper(d16, low01, low23));
  pixels.at[2] = hn::BitCast(d8, hn::InterleaveLower(d16, high01, high23));
  pixels.at[3] = hn::BitCast(d8, hn::InterleaveUpper(d16, high01, high23));
  return pixels;
}

// Vector by vector, so that they stay in registers.
template <class D32>
HWY_INLINE void Copy(const Accumulators<D32>& from, Accumulators<D32>& to) {
  HWY_UNROLL(4)
  for (size_t v = 0; v < 4; ++v) to.at[v] = from.at[v];
}
template <class D32>
HWY_INLINE void Start(const Channels<D32>& c, Accumulators<D32>& sums) {
  HWY_UNROLL(4)
  for (size_t v = 0; v < 4; ++v) sums.at[v] = hn::Load(D32(), c.start[v]);
}

// Weights of a group.
template <class D32>
struct Weights {
  HWY_INLINE Weights() {}
  hn::Vec<hn::Repartition<int8_t, D32>> at[4];
};

template <class D32>
HWY_INLINE void Load(const int8_t* from, Weights<D32>& weights) {
  HWY_UNROLL(4)
  for (size_t v = 0; v < 4; ++v) {
    weights.at[v] = hn::LoadU(hn::Repartition<int8_t, D32>(), from + v * kLine);
  }
}

template <class D32>
HWY_INLINE void Multiply(const Pixels<D32>& pixels, const Weights<D32>& weights,
                         Accumulators<D32>& sums) {
  HWY_UNROLL(4)
  for (size_t v = 0; v < 4; ++v) {
    sums.at[v] = hn::SumOfMulQuadAccumulate(D32(), pixels.at[v], weights.at[v], sums.at[v]);
  }
}

// Finishes the results of a row, from left to right.
template <class D32, bool kPartial>
class Results {
 public:
  HWY_INLINE explicit Results(const Channels<D32>& channels) : c_(channels) {}

  // `at`: element offset of channel `first` in the output.
  HWY_INLINE void Add(const Accumulators<D32>& sums, int64_t at) {
    if (c_.bytes) {
      Store(sums, at);
      return;
    }
    if (count_ == 0) at_ = at;
    const D32 d;
    const hn::CappedTag<int32_t, 4> block;
    HWY_ALIGN int32_t stored[Channels<D32>::kLanes];
    for (size_t v = 0; v < 4; ++v) {
      hn::Store(sums.at[v], d, stored);
      for (size_t l = 0; l < hn::Lanes(d); l += 4) {
        hn::Store(hn::Load(block, stored + l), block, sums_ + count_ * kSums + l * 4 + v * 4);
      }
    }
    if (++count_ == kPixels) Flush();
  }

  // Call after the last Add.
  HWY_INLINE void Flush() {
    if (count_ == 0) return;
    const QuantizedEpilogue& e = c_.args.epilogue;
    const int64_t size = e.quantizes ? 1 : 4;
    std::byte* row = static_cast<std::byte*>(c_.args.out) + (at_ - c_.first) * size;
    FinishSums(e, static_cast<size_t>(c_.first), sums_, kSums, count_, c_.count, row,
               static_cast<size_t>(c_.args.channels));
    count_ = 0;
  }

 private:
  static constexpr size_t kSums = 4 * Channels<D32>::kLanes;
  static constexpr size_t kPixels = 32;

  HWY_INLINE void Store(const Accumulators<D32>& sums, int64_t at) const {
    const hn::RebindToFloat<D32> df;
    hn::Vec<decltype(df)> y[4];
    HWY_UNROLL(4)
    for (size_t v = 0; v < 4; ++v) {
      y[v] = hn::Add(hn::Mul(hn::ConvertTo(df, sums.at[v]), hn::Load(df, c_.scale[v])),
                     hn::Load(df, c_.bias[v]));
    }
    const auto q = c_.quantizer.Blocks(y[0], y[1], y[2], y[3]);
    const hn::Repartition<uint8_t, D32> d8;
    uint8_t* out = static_cast<uint8_t*>(c_.args.out) + at;
    if constexpr (kPartial) {
      hn::StoreN(q, d8, out, c_.count);
    } else {
      hn::StoreU(q, d8, out);
    }
  }

  const Channels<D32>& c_;
  // FinishSums takes many pixels at once: its setup costs as much as a few of them.
  HWY_ALIGN int32_t sums_[kPixels * kSums];
  size_t count_ = 0;
  int64_t at_ = 0;  // of the first pixel in sums_
};

// Computes a row of results of a window of kWidth adjacent columns and up to 4 * kQuads rows, with
// stride kStride. Every column of the image is interleaved once.
template <class D32, bool kPartial, int kWidth, int kStride, int kQuads>
HWY_NOINLINE void SlideRow(const Channels<D32>& c, const uint8_t* image, int64_t y, int64_t at) {
  const QuantizedDepthwiseArgs& g = c.args;
  Rows rows[kQuads];
  for (int q = 0; q < kQuads; ++q) rows[q] = RowsOf(c, image, y, q);
  // 12 weights, 12 accumulators and 4 pixels fit 32 registers.
  constexpr bool kHeld = kWidth * kQuads <= 3;
  const int8_t* HWY_RESTRICT weight = c.weight;
  Weights<D32> weights[kWidth];
  HWY_UNROLL(kWidth)
  for (int t = 0; t < kWidth; ++t) Load(weight + t * kGroup, weights[t]);
  // Accumulators of the results whose windows contain the current column.
  constexpr int kResults = (kWidth + kStride - 1) / kStride;
  Accumulators<D32> sums[kResults];
  Results<D32, kPartial> results(c);
  HWY_UNROLL(kResults)
  for (int i = 0; i < kResults; ++i) Start(c, sums[i]);
  for (int64_t x = 0; x < g.out_width + kResults - 1; ++x) {
    HWY_UNROLL(kStride)
    for (int s = 0; s < kStride; ++s) {
      HWY_UNROLL(kQuads)
      for (int q = 0; q < kQuads; ++q) {
        const Pixels<D32> pixels =
            Interleaved<D32, kPartial>(c, rows[q], x * kStride + s - g.padding_x);
        HWY_UNROLL(kResults)
        for (int i = 0; i < kResults; ++i) {
          const int t = i * kStride + s;
          if (t >= kWidth) continue;
          if constexpr (!kHeld) Load(weight + (q * kWidth + t) * kGroup, weights[t]);
          Multiply(pixels, weights[t], sums[i]);
        }
      }
    }
    const int64_t done = x - (kResults - 1);
    if (done >= 0) results.Add(sums[kResults - 1], at + done * g.channels);
    HWY_UNROLL(kResults)
    for (int i = kResults - 1; i > 0; --i) Copy(sums[i - 1], sums[i]);
    Start(c, sums[0]);
  }
  results.Flush();
}

// Computes a row of results for any window.
template <class D32, bool kPartial>
HWY_NOINLINE void AnyRow(const Channels<D32>& c, const uint8_t* image, int64_t y, int64_t at) {
  const QuantizedDepthwiseArgs& g = c.args;
  const int64_t quads = (g.kernel_height + kQuad - 1) / kQuad;
  const Rows first = RowsOf(c, image, y, 0);
  Results<D32, kPartial> results(c);
  for (int64_t x = 0; x < g.out_width; ++x) {
    Accumulators<D32> sums;
    Start(c, sums);
    const int8_t* weight = c.weight;
    for (int64_t q = 0; q < quads; ++q) {
      const Rows rows = q == 0 ? first : RowsOf(c, image, y, q);
      for (int64_t t = 0; t < g.kernel_width; ++t, weight += kGroup) {
        const int64_t column = x * g.stride_x - g.padding_x + t * g.dilation_x;
        Weights<D32> weights;
        Load(weight, weights);
        Multiply(Interleaved<D32, kPartial>(c, rows, column), weights, sums);
      }
    }
    results.Add(sums, at + x * g.channels);
  }
  results.Flush();
}

// Computes rows [first, last) of some channels.
template <class D32, bool kPartial>
HWY_INLINE void RunRows(const Channels<D32>& c, int64_t first, int64_t last) {
  const QuantizedDepthwiseArgs& g = c.args;
  auto* run = &AnyRow<D32, kPartial>;
  if (g.dilation_x == 1) {
    if (g.kernel_width == 3 && g.kernel_height <= 4) {
      if (g.stride_x == 1) run = &SlideRow<D32, kPartial, 3, 1, 1>;
      if (g.stride_x == 2) run = &SlideRow<D32, kPartial, 3, 2, 1>;
    } else if (g.kernel_width == 5 && g.kernel_height > 4 && g.kernel_height <= 8) {
      if (g.stride_x == 1) run = &SlideRow<D32, kPartial, 5, 1, 2>;
      if (g.stride_x == 2) run = &SlideRow<D32, kPartial, 5, 2, 2>;
    }
  }
  for (int64_t r = first; r < last; ++r) {
    const uint8_t* image = g.in + r / g.out_height * g.height * g.width * g.channels;
    run(c, image, r % g.out_height, r * g.out_width * g.channels + c.first);
  }
}

// Runs vectors of channels from channel c on while enough channels remain.
template <size_t kLanes>
HWY_INLINE void RunChannels(const QuantizedDepthwiseArgs& g, bool fits, int64_t first, int64_t last,
                            int64_t& c) {
  using D32 = hn::CappedTag<int32_t, kLanes>;
  constexpr int64_t kCount = 4 * kLanes;
  if constexpr (hn::MaxLanes(D32()) == kLanes) {
    for (; c + kCount <= g.channels; c += kCount) {
      RunRows<D32, false>({g, fits, c, static_cast<size_t>(kCount)}, first, last);
    }
  }
}

void QuantizedDepthwiseRowsImpl(const QuantizedDepthwiseArgs& g, int64_t first, int64_t last) {
  const bool fits = BytesFit(g.epilogue, 0, static_cast<size_t>(g.channels));
  // Rows per band, enough to amortize the setup of the channels' parameters.
  const int64_t band = HWY_MAX(int64_t{1}, 256 / g.out_width);
  for (int64_t begin = first; begin < last; begin += band) {
    const int64_t end = HWY_MIN(last, begin + band);
    int64_t c = 0;
    RunChannels<16>(g, fits, begin, end, c);
    RunChannels<8>(g, fits, begin, end, c);
    RunChannels<4>(g, fits, begin, end, c);
    if (c < g.channels) {
      RunRows<hn::CappedTag<int32_t, 4>, true>({g, fits, c, static_cast<size_t>(g.channels - c)},
                                               begin, end);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(QuantizedDepthwiseRowsImpl);
void QuantizedDepthwiseRows(const QuantizedDepthwiseArgs& args, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(QuantizedDepthwiseRowsImpl)(args, first, last);
}

}  // namespace belay
#endif  // HWY_ONCE
