#include "runtime/kernels/packed/winograd.h"

#include <algorithm>

#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/winograd.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"
#include "runtime/kernels/packed/winograd_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TagF32 = hn::CappedTag<float, 16>;
using V = hn::Vec<TagF32>;

// B^T d.
HWY_INLINE void TransformPixels(const V (&d)[kWinogradPixels], V (&t)[kWinogradPixels]) {
  const TagF32 df;
  const V two = hn::Set(df, 2.0f), four = hn::Set(df, 4.0f), five = hn::Set(df, 5.0f);
  t[0] = hn::MulAdd(four, d[0], hn::NegMulAdd(five, d[2], d[4]));
  const V even4 = hn::NegMulAdd(four, d[2], d[4]), odd4 = hn::NegMulAdd(four, d[1], d[3]);
  t[1] = hn::Add(even4, odd4);
  t[2] = hn::Sub(even4, odd4);
  const V even = hn::Sub(d[4], d[2]), odd = hn::Sub(d[3], d[1]);
  t[3] = hn::MulAdd(two, odd, even);
  t[4] = hn::NegMulAdd(two, odd, even);
  t[5] = hn::MulAdd(four, d[1], hn::NegMulAdd(five, d[3], d[5]));
}

// A^T m.
HWY_INLINE void TransformSums(const V (&m)[kWinogradPixels], V (&y)[kWinogradResults]) {
  const TagF32 df;
  const V sum = hn::Add(m[1], m[2]), difference = hn::Sub(m[1], m[2]);
  const V sum2 = hn::Add(m[3], m[4]), difference2 = hn::Sub(m[3], m[4]);
  y[0] = hn::Add(m[0], hn::Add(sum, sum2));
  y[1] = hn::MulAdd(hn::Set(df, 2.0f), difference2, difference);
  y[2] = hn::MulAdd(hn::Set(df, 4.0f), sum2, sum);
  y[3] = hn::Add(m[5], hn::MulAdd(hn::Set(df, 8.0f), difference2, difference));
}

void TransformPixelsImpl(const WinogradArgs& g, const WinogradRows& rows, const float* zeros,
                         int64_t begin, int64_t end) {
  const TagF32 d;
  constexpr int64_t kPixels = kWinogradPixels;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t row = WinogradRow(g.channels);
  const WinogradTiles tiles(g.out_height, g.out_width);
  for (int64_t t = begin; t < end; ++t) {
    const int64_t tile = rows.first + t, top = tiles.RowOf(tile) - g.padding_y;
    const int64_t left = tiles.ColumnOf(tile) - g.padding_x;
    const float* image = g.in + tiles.ImageOf(tile) * g.height * g.width * g.channels;
    const float* pixels[kPixels][kPixels];
    for (int64_t i = 0; i < kPixels; ++i) {
      for (int64_t j = 0; j < kPixels; ++j) {
        const int64_t y = top + i, x = left + j;
        const bool inside = y >= 0 && y < g.height && x >= 0 && x < g.width;
        pixels[i][j] = inside ? image + (y * g.width + x) * g.channels : zeros;
      }
    }
    for (int64_t c = 0; c < g.channels; c += lanes) {
      const auto some = static_cast<size_t>(g.channels - c);
      V of_rows[kPixels][kPixels];  // d B
      HWY_UNROLL(6)
      for (int64_t i = 0; i < kPixels; ++i) {
        V pixel[kPixels];
        HWY_UNROLL(6)
        for (int64_t j = 0; j < kPixels; ++j) pixel[j] = LoadSome(d, pixels[i][j] + c, some);
        TransformPixels(pixel, of_rows[i]);
      }
      float* to = rows.at + t * row + c;
      HWY_UNROLL(6)
      for (int64_t j = 0; j < kPixels; ++j) {
        V column[kPixels], transformed[kPixels];
        HWY_UNROLL(6)
        for (int64_t i = 0; i < kPixels; ++i) column[i] = of_rows[i][j];
        TransformPixels(column, transformed);
        HWY_UNROLL(6)
        for (int64_t i = 0; i < kPixels; ++i) {
          hn::StoreU(transformed[i], d, to + (i * kPixels + j) * rows.product(row));
        }
      }
    }
  }
}

void TransformSumsImpl(const WinogradArgs& g, const WinogradRows& rows, int64_t begin,
                       int64_t end) {
  const TagF32 d;
  constexpr int64_t kPixels = kWinogradPixels, kResults = kWinogradResults;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t n = g.out_channels, row = WinogradRow(n);
  const WinogradTiles tiles(g.out_height, g.out_width);
  const EpilogueF32& e = g.epilogue;
  const bool linear = IsLinear(e);
  const float* added = e.multiply ? nullptr : e.other;
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  for (int64_t t = begin; t < end; ++t) {
    const int64_t tile = rows.first + t, top = tiles.RowOf(tile), left = tiles.ColumnOf(tile);
    const int64_t height = HWY_MIN(kResults, g.out_height - top);
    const int64_t width = HWY_MIN(kResults, g.out_width - left);
    // Offset of the tile's row i.
    const auto place = [&](int64_t i) {
      return ((tiles.ImageOf(tile) * g.out_height + top + i) * g.out_width + left) * n;
    };
    for (int64_t c = 0; c < n; c += lanes) {
      const auto some = static_cast<size_t>(n - c);
      const float* from = rows.at + t * row + c;
      V of_columns[kResults][kPixels];  // A^T m
      HWY_UNROLL(6)
      for (int64_t j = 0; j < kPixels; ++j) {
        V column[kPixels], y[kResults];
        HWY_UNROLL(6)
        for (int64_t i = 0; i < kPixels; ++i) {
          column[i] = hn::LoadU(d, from + (i * kPixels + j) * rows.product(row));
        }
        TransformSums(column, y);
        HWY_UNROLL(4)
        for (int64_t i = 0; i < kResults; ++i) of_columns[i][j] = y[i];
      }
      const V bias = e.bias == nullptr ? hn::Zero(d) : LoadSome(d, e.bias + c, some);
      for (int64_t i = 0; i < height; ++i) {
        V y[kResults];
        TransformSums(of_columns[i], y);
        for (int64_t j = 0; j < width; ++j) {
          const int64_t at = place(i) + j * n + c;
          V sum = hn::Add(y[j], bias);
          if (added != nullptr) sum = hn::Add(sum, LoadSome(d, added + at, some));
          if (linear) sum = ClampKeepingNaN(d, sum, low, high);
          StoreSome(d, sum, g.out + at, some);
        }
      }
    }
    for (int64_t i = 0; !linear && i < height; ++i) {
      const auto columns = static_cast<size_t>(n);
      FinishTile(e, e.other == nullptr ? nullptr : e.other + place(i), g.out + place(i), columns,
                 static_cast<size_t>(width), columns);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

// Bytes of pixels and sums of a chunk. Filters are read once per chunk, from a more distant cache.
constexpr int64_t kChunkBytes = int64_t{2} << 20;
constexpr int64_t kLeastTiles = 2 * static_cast<int64_t>(kTileRows);

}  // namespace

int64_t WinogradChunkTiles(int64_t channels, int64_t out_channels) {
  const CheckedInt tile =
      WinogradScratchSize(channels, out_channels, 1) * CheckedInt(int64_t{sizeof(float)});
  return tile.ok() ? std::max(kLeastTiles, kChunkBytes / tile.value()) : kLeastTiles;
}

CheckedInt WinogradScratchSize(int64_t channels, int64_t out_channels, int64_t tiles) {
  const CheckedInt row = WinogradRow(channels), out_row = WinogradRow(out_channels);
  return (row + out_row) * CheckedInt(kWinogradProducts) * CheckedInt(tiles) + row;
}

HWY_EXPORT(TransformPixelsImpl);
HWY_EXPORT(TransformSumsImpl);

WinogradChunk::WinogradChunk(const WinogradArgs& args, int64_t first, int64_t count, float* scratch)
    : args_(args), zeros_(scratch), pixels_{first, count, nullptr}, sums_{first, count, nullptr} {
  const int64_t row = WinogradRow(args.channels);
  std::fill(scratch, scratch + row, 0.0f);
  pixels_.at = scratch + row;
  sums_.at = pixels_.at + kWinogradProducts * pixels_.product(row);
}

void WinogradChunk::TransformPixels(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(TransformPixelsImpl)(args_, pixels_, zeros_, begin, end);
}

void WinogradChunk::Multiply(int64_t begin, int64_t end) const {
  const int64_t row = WinogradRow(args_.channels), out_row = WinogradRow(args_.out_channels);
  const int64_t matrix = *PackedMatrixSize(args_.channels, args_.out_channels);
  PackedGemmArgs g;
  g.m = static_cast<size_t>(pixels_.count);
  g.n = static_cast<size_t>(args_.out_channels);
  g.k = static_cast<size_t>(args_.channels);
  g.lda = static_cast<size_t>(row);
  g.ldc = static_cast<size_t>(out_row);
  for (int64_t p = begin; p < end; ++p) {
    g.a = pixels_.at + p * pixels_.product(row);
    g.b = args_.weight + p * matrix;
    g.c = sums_.at + p * sums_.product(out_row);
    PackedGemm(g);
  }
}

void WinogradChunk::TransformSums(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(TransformSumsImpl)(args_, sums_, begin, end);
}

}  // namespace belay
#endif  // HWY_ONCE
