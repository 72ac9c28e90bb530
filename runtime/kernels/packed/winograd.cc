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
HWY_INLINE void TransformPixels(const V (&d)[4], V (&t)[4]) {
  t[0] = hn::Sub(d[0], d[2]);
  t[1] = hn::Add(d[1], d[2]);
  t[2] = hn::Sub(d[2], d[1]);
  t[3] = hn::Sub(d[1], d[3]);
}
HWY_INLINE void TransformPixels(const V (&d)[6], V (&t)[6]) {
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
HWY_INLINE void TransformSums(const V (&m)[4], V (&y)[2]) {
  y[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
  y[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
}
HWY_INLINE void TransformSums(const V (&m)[6], V (&y)[4]) {
  const TagF32 df;
  const V sum = hn::Add(m[1], m[2]), difference = hn::Sub(m[1], m[2]);
  const V sum2 = hn::Add(m[3], m[4]), difference2 = hn::Sub(m[3], m[4]);
  y[0] = hn::Add(m[0], hn::Add(sum, sum2));
  y[1] = hn::MulAdd(hn::Set(df, 2.0f), difference2, difference);
  y[2] = hn::MulAdd(hn::Set(df, 4.0f), sum2, sum);
  y[3] = hn::Add(m[5], hn::MulAdd(hn::Set(df, 8.0f), difference2, difference));
}

// Writes B^T d B of a tile, whose pixel (i, j) is at pixel(i, j), to matrices `step` apart.
template <int64_t kPixels, class Pixel>
HWY_INLINE void TransformTile(int64_t channels, const Pixel& pixel, float* HWY_RESTRICT to,
                              int64_t step) {
  const TagF32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < channels; c += lanes) {
    const auto some = static_cast<size_t>(channels - c);
    V of_rows[kPixels][kPixels];  // d B
    HWY_UNROLL(6)
    for (int64_t i = 0; i < kPixels; ++i) {
      V row[kPixels];
      HWY_UNROLL(6)
      for (int64_t j = 0; j < kPixels; ++j) row[j] = LoadSome(d, pixel(i, j) + c, some);
      TransformPixels(row, of_rows[i]);
    }
    HWY_UNROLL(6)
    for (int64_t j = 0; j < kPixels; ++j) {
      V column[kPixels], transformed[kPixels];
      HWY_UNROLL(6)
      for (int64_t i = 0; i < kPixels; ++i) column[i] = of_rows[i][j];
      TransformPixels(column, transformed);
      HWY_UNROLL(6)
      for (int64_t i = 0; i < kPixels; ++i) {
        hn::StoreU(transformed[i], d, to + c + (i * kPixels + j) * step);
      }
    }
  }
}

template <int64_t kPixels>
void TransformTiles(const WinogradArgs& g, const WinogradRows& rows, const float* zeros,
                    int64_t begin, int64_t end) {
  const int64_t row = WinogradRow(g.channels), step = rows.product(row);
  const WinogradTiles tiles(g.tile, g.out_height, g.out_width);
  const int64_t image_row = g.width * g.channels;
  for (int64_t t = begin * g.depth; t < end * g.depth; ++t) {
    const int64_t tile = rows.first + t / g.depth, top = tiles.RowOf(tile) - g.padding_y;
    const int64_t left = tiles.ColumnOf(tile) - g.padding_x;
    const int64_t plane = tiles.ImageOf(tile) * g.depth + t % g.depth;
    const float* image = g.in + plane * g.height * image_row;
    float* const to = rows.at + t * row;
    if (top >= 0 && left >= 0 && top + kPixels <= g.height && left + kPixels <= g.width) {
      const float* first = image + top * image_row + left * g.channels;
      TransformTile<kPixels>(
          g.channels,
          [&](int64_t i, int64_t j) HWY_ATTR { return first + i * image_row + j * g.channels; }, to,
          step);
      continue;
    }
    const float* pixels[kPixels][kPixels];
    for (int64_t i = 0; i < kPixels; ++i) {
      for (int64_t j = 0; j < kPixels; ++j) {
        const int64_t y = top + i, x = left + j;
        const bool inside = y >= 0 && y < g.height && x >= 0 && x < g.width;
        pixels[i][j] = inside ? image + y * image_row + x * g.channels : zeros;
      }
    }
    TransformTile<kPixels>(
        g.channels, [&](int64_t i, int64_t j) HWY_ATTR { return pixels[i][j]; }, to, step);
  }
}

void TransformPixelsImpl(const WinogradArgs& g, const WinogradRows& rows, const float* zeros,
                         int64_t begin, int64_t end) {
  if (g.tile == WinogradTile::k2x2) return TransformTiles<4>(g, rows, zeros, begin, end);
  TransformTiles<6>(g, rows, zeros, begin, end);
}

template <int64_t kResults>
void FinishTiles(const WinogradArgs& g, const WinogradRows& rows, int64_t begin, int64_t end) {
  const TagF32 d;
  constexpr int64_t kPixels = kResults + 2;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t n = g.out_channels, row = WinogradRow(n), step = rows.product(row);
  const WinogradTiles tiles(g.tile, g.out_height, g.out_width);
  const EpilogueF32& e = g.epilogue;
  const bool linear = IsLinear(e);
  const float* added = e.multiply ? nullptr : e.other;
  const V low = hn::Set(d, e.low), high = hn::Set(d, e.high);
  for (int64_t t = begin * g.out_depth; t < end * g.out_depth; ++t) {
    const int64_t tile = rows.first + t / g.out_depth;
    const int64_t top = tiles.RowOf(tile), left = tiles.ColumnOf(tile);
    const int64_t plane = tiles.ImageOf(tile) * g.out_depth + t % g.out_depth;
    const int64_t height = HWY_MIN(kResults, g.out_height - top);
    const int64_t width = HWY_MIN(kResults, g.out_width - left);
    // Offsets of the tile's first result, and between its rows.
    const int64_t first = ((plane * g.out_height + top) * g.out_width + left) * n;
    const int64_t out_row = g.out_width * n;
    for (int64_t c = 0; c < n; c += lanes) {
      const auto some = static_cast<size_t>(n - c);
      const float* from = rows.at + t * row + c;
      V of_columns[kResults][kPixels];  // A^T m
      HWY_UNROLL(6)
      for (int64_t j = 0; j < kPixels; ++j) {
        V column[kPixels], y[kResults];
        HWY_UNROLL(6)
        for (int64_t i = 0; i < kPixels; ++i) {
          column[i] = hn::LoadU(d, from + (i * kPixels + j) * step);
        }
        TransformSums(column, y);
        HWY_UNROLL(4)
        for (int64_t i = 0; i < kResults; ++i) of_columns[i][j] = y[i];
      }
      const V bias = e.bias == nullptr ? hn::Zero(d) : LoadSome(d, e.bias + c, some);
      HWY_UNROLL(4)
      for (int64_t i = 0; i < kResults; ++i) {
        if (i >= height) break;
        V y[kResults];
        TransformSums(of_columns[i], y);
        HWY_UNROLL(4)
        for (int64_t j = 0; j < kResults; ++j) {
          if (j >= width) break;
          const int64_t at = first + i * out_row + j * n + c;
          V sum = hn::Add(y[j], bias);
          if (added != nullptr) sum = hn::Add(sum, LoadSome(d, added + at, some));
          if (linear) sum = ClampKeepingNaN(d, sum, low, high);
          StoreSome(d, sum, g.out + at, some);
        }
      }
    }
    for (int64_t i = 0; !linear && i < height; ++i) {
      const auto columns = static_cast<size_t>(n);
      const int64_t at = first + i * out_row;
      FinishTile(e, e.other == nullptr ? nullptr : e.other + at, g.out + at, columns,
                 static_cast<size_t>(width), columns);
    }
  }
}

void TransformSumsImpl(const WinogradArgs& g, const WinogradRows& rows, int64_t begin,
                       int64_t end) {
  if (g.tile == WinogradTile::k2x2) return FinishTiles<2>(g, rows, begin, end);
  FinishTiles<4>(g, rows, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {
namespace {

// Bytes of pixels and sums of a chunk: half of an L2 cache. Filters are read once per chunk, so with
// many channels a chunk has at least this many rows of results.
constexpr int64_t kChunkBytes = int64_t{1} << 20;
constexpr int64_t kLeastRows = 10 * static_cast<int64_t>(kTileRows);

// The transformed pixels that the rows of results of a GEMM read.
struct PlaneRows {
  const WinogradArgs& g;
  const float* pixels;  // of the GEMM
  const float* zeros;
  int64_t row;

  // RowPointersFn of ProductArgs; taps are planes.
  static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                          const float** pointers) {
    const PlaneRows& p = *static_cast<const PlaneRows*>(source);
    for (size_t t = 0; t < taps; ++t) {
      for (size_t i = 0; i < count; ++i) {
        const auto result = static_cast<int64_t>(first + i);
        const int64_t tile = result / p.g.out_depth, z = result % p.g.out_depth;
        const int64_t plane =
            z * p.g.stride_z - p.g.padding_z + static_cast<int64_t>(tap + t) * p.g.dilation_z;
        const bool inside = plane >= 0 && plane < p.g.depth;
        pointers[t * count + i] = inside ? p.pixels + (tile * p.g.depth + plane) * p.row : p.zeros;
      }
    }
  }
};

}  // namespace

int64_t WinogradChunkTiles(const WinogradArgs& g) {
  const CheckedInt bytes = WinogradScratchSize(g, 1) * CheckedInt(int64_t{sizeof(float)});
  const int64_t least = (kLeastRows - 1) / g.out_depth + 1;
  return bytes.ok() ? std::max(least, kChunkBytes / bytes.value()) : least;
}

CheckedInt WinogradScratchSize(const WinogradArgs& g, int64_t tiles) {
  const CheckedInt row = WinogradRow(g.channels), out_row = WinogradRow(g.out_channels);
  const CheckedInt rows = row * CheckedInt(g.depth) + out_row * CheckedInt(g.out_depth);
  // Each matrix may need another cache line (WinogradRows::product).
  return (rows * CheckedInt(tiles) + CheckedInt(32)) * CheckedInt(WinogradProducts(g.tile)) + row;
}

HWY_EXPORT(TransformPixelsImpl);
HWY_EXPORT(TransformSumsImpl);

WinogradChunk::WinogradChunk(const WinogradArgs& args, int64_t first, int64_t count, float* scratch)
    : args_(args),
      zeros_(scratch),
      pixels_{first, count * args.depth, nullptr},
      sums_{first, count * args.out_depth, nullptr} {
  const int64_t row = WinogradRow(args.channels);
  std::fill(scratch, scratch + row, 0.0f);
  pixels_.at = scratch + row;
  sums_.at = pixels_.at + WinogradProducts(args.tile) * pixels_.product(row);
}

void WinogradChunk::TransformPixels(int64_t begin, int64_t end) const {
  HWY_DYNAMIC_DISPATCH(TransformPixelsImpl)(args_, pixels_, zeros_, begin, end);
}

void WinogradChunk::Multiply(int64_t begin, int64_t end) const {
  const int64_t row = WinogradRow(args_.channels), out_row = WinogradRow(args_.out_channels);
  const int64_t matrix = *PackedMatrixSize(args_.kernel_depth * args_.channels, args_.out_channels);
  PackedGemmArgs g;
  g.m = static_cast<size_t>(sums_.count);
  g.n = static_cast<size_t>(args_.out_channels);
  g.k = static_cast<size_t>(args_.channels);
  g.lda = static_cast<size_t>(row);
  g.ldc = static_cast<size_t>(out_row);
  PlaneRows planes = {args_, nullptr, zeros_, row};
  const float* pointers[kGroupRows * kWinogradPlanes];
  if (args_.depth != 1 || args_.out_depth != 1) {
    g.taps = static_cast<size_t>(args_.kernel_depth);
    g.row_pointers = &PlaneRows::RowPointers;
    g.source = &planes;
    g.pointers = pointers;
    g.zeros = zeros_;
  }
  for (int64_t p = begin; p < end; ++p) {
    g.a = planes.pixels = pixels_.at + p * pixels_.product(row);
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
