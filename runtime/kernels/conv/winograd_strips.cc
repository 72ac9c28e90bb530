#include "runtime/kernels/conv/winograd_strips.h"

#include <algorithm>

#include "runtime/core/budget.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay {
namespace {

constexpr WinogradTile kTile = WinogradTile::k2x2;
constexpr int64_t kResults = WinogradResults(kTile);
// A strip has at least as many tiles, since a GEMM of fewer rows rounds differently.
constexpr int64_t kLeastTiles = 4;

// Costs in multiply-adds of a GEMM, measured on an AMD EPYC, family 26, model 2 (AVX-512).
constexpr double kCostOfFilter = 600;  // to transform a filter
constexpr double kCostOfElement = 30;  // to copy and transform a pixel or a result
constexpr int64_t kVector = 16;        // filters
constexpr double kShare = 0.85;        // of the cost of a GEMM of patches

// Whole cache lines.
CheckedInt Lines(CheckedInt floats) {
  return FloorDiv(floats + CheckedInt(15), CheckedInt(16)) * 16;
}

bool HasWinogradWindow(const ConvGeometry& g) {
  for (int d = 1; d < 3; ++d) {
    // With more padding, a strip may be outside the image.
    if (g.kernel[d] != 3 || g.stride[d] != 1 || g.dilation[d] != 1 || g.padding[d] > 2)
      return false;
  }
  return g.groups == 1 && g.kernel[0] <= kWinogradPlanes && g.plane() > 0 && g.out_plane() > 0 &&
         g.channels * g.kernel[0] >= kAccurateWinogradTerms && g.filters > 0;
}

// Whether the expected cost is well below that of a GEMM of patches.
bool PaysOff(const ConvGeometry& g, const WinogradTiles& tiles) {
  const auto in = static_cast<double>(g.channels), out = static_cast<double>(g.filters);
  const auto depth = static_cast<double>(g.size[0]), out_depth = static_cast<double>(g.out[0]);
  const auto batch = static_cast<double>(g.batch);
  const double all_tiles = batch * static_cast<double>(tiles.down * tiles.across);
  const double pixels = all_tiles * kResults * kResults;  // of a plane of all images
  const double filters = in * out * static_cast<double>(g.kernel[0]);
  const auto columns = static_cast<double>((g.filters + kVector - 1) / kVector * kVector);
  const double products = all_tiles * out_depth * static_cast<double>(WinogradProducts(kTile)) *
                          filters * columns / out * WinogradGemmWork(g.filters);
  const double elements = pixels * (in * depth + out * out_depth);
  const double patches = 9 * filters * batch * static_cast<double>(g.out_plane());
  return products + kCostOfFilter * filters + kCostOfElement * elements < kShare * patches;
}

// Rows [first, first + count) of image n as [c, planes, count, w].
TensorView RowsOf(const TensorView& t, int64_t n, int64_t first, int64_t count) {
  const int last = t.rank() - 1;
  const bool has_planes = last == 4;
  TensorView rows;
  rows.dtype = t.dtype;
  rows.sizes = {t.sizes[1], has_planes ? t.sizes[2] : 1, count, t.sizes[last]};
  rows.strides = {t.strides[1], has_planes ? t.strides[2] : 0, t.strides[last - 1],
                  t.strides[last]};
  rows.data = ElementAddress(t, n * t.strides[0] + first * t.strides[last - 1]);
  return rows;
}

// The same sizes at `data`, channels last.
TensorView ChannelsLast(const Sizes& sizes, const float* data) {
  const int64_t row = sizes[3] * sizes[0];
  TensorView view;
  view.sizes = sizes;
  view.strides = {1, sizes[2] * row, row, sizes[0]};
  view.data = const_cast<float*>(data);
  return view;
}

}  // namespace

std::optional<WinogradStrips> WinogradStrips::For(const ConvGeometry& g, int threads) {
  if (!HasWinogradWindow(g)) return std::nullopt;
  const WinogradTiles tiles(kTile, g.out[1], g.out[2]);
  if (tiles.across < kLeastTiles || !PaysOff(g, tiles)) return std::nullopt;
  const WinogradStrips strips(g, threads);
  // In bytes, with copies of operands, it is still a number.
  constexpr int64_t kMostFloats = INT64_MAX / 64;
  const CheckedInt floats = strips.scratch();
  if (!floats.ok() || floats.value() > kMostFloats) return std::nullopt;
  return strips;
}

WinogradStrips::WinogradStrips(const ConvGeometry& g, int threads)
    : batch_(g.batch), threads_(threads) {
  args_.tile = kTile;
  args_.batch = 1;
  args_.channels = g.channels;
  args_.depth = g.size[0];
  args_.height = g.size[1];
  args_.width = g.size[2];
  args_.out_channels = g.filters;
  args_.out_depth = g.out[0];
  args_.out_height = g.out[1];
  args_.out_width = g.out[2];
  args_.padding_y = g.padding[1];
  args_.padding_x = g.padding[2];
  args_.kernel_depth = g.kernel[0];
  args_.stride_z = g.stride[0];
  args_.padding_z = g.padding[0];
  args_.dilation_z = g.dilation[0];
  const WinogradTiles tiles(kTile, g.out[1], g.out[2]);
  const int64_t most = std::max<int64_t>(WinogradChunkTiles(args_) / tiles.across, 1);
  int64_t strips = (tiles.down - 1) / most + 1;
  // Whole rounds of all threads.
  if (batch_ == 1) strips = (strips - 1) / threads * threads + threads;
  const int64_t tile_rows = (tiles.down - 1) / strips + 1;
  rows_ = tile_rows * kResults;
  const std::optional<int64_t> filters =
      PackedWinogradSize(kTile, args_.kernel_depth, args_.channels, args_.out_channels);
  const int64_t in_rows = std::min(rows_ + 2, g.size[1]);
  filters_ = Lines(CheckedInt(filters.value_or(-1)));
  image_ = Lines(CheckedInt(in_rows) * g.size[0] * g.size[2] * g.channels);
  results_ = Lines(CheckedInt(rows_) * g.out[0] * g.out[2] * g.filters);
  tiles_ = Lines(WinogradScratchSize(args_, tile_rows * tiles.across));
}

void WinogradStrips::Run(const KernelContext& context, const TensorView& input, const float* weight,
                         const float* bias, const TensorView& out, float* scratch) const {
  const auto filters =
      WinogradFilters::RowMajor(weight, args_.kernel_depth, args_.channels, args_.out_channels);
  const double count = static_cast<double>(filters.panels() * kPanelColumns) *
                       static_cast<double>(args_.channels * args_.kernel_depth);
  RunRanges(context, filters.panels(), 1, count * kCostOfFilter,
            [&](int, int64_t first, int64_t last) {
              PackWinograd(kTile, filters, first, last, scratch);
            });
  const int64_t pieces = (args_.out_height - 1) / rows_ + 1;
  const WinogradTiles tiles(kTile, rows_, args_.out_width);
  const double work = static_cast<double>(tiles.down * tiles.across * WinogradProducts(kTile)) *
                      static_cast<double>(args_.out_depth * args_.kernel_depth) *
                      static_cast<double>(args_.channels) * static_cast<double>(args_.out_channels);
  RunRanges(context, batch_ * pieces, 1, work * static_cast<double>(batch_ * pieces),
            [&](int part, int64_t first, int64_t last) {
              float* const image = scratch + filters_.value() + part * strip().value();
              float* const results = image + image_.value();
              WinogradArgs g = args_;
              g.in = image;
              g.weight = scratch;
              g.out = results;
              g.epilogue.bias = bias;
              Budget::Pace pace;
              for (int64_t i = first; i < last; ++i) {
                if (pace.Stop(static_cast<int64_t>(std::min(work, 0x1p40)))) return;
                const int64_t n = i / pieces, y = i % pieces * rows_;
                g.out_height = std::min(rows_, args_.out_height - y);
                // Rows of the image that the strip reads.
                const int64_t top = y - args_.padding_y, from = std::max<int64_t>(top, 0);
                g.padding_y = from - top;
                g.height = std::min(top + g.out_height + 2, args_.height) - from;
                const TensorView pixels = RowsOf(input, n, from, g.height);
                CopyConvertible(pixels, ChannelsLast(pixels.sizes, image));
                const int64_t strip_tiles = g.tiles();
                const WinogradChunk chunk(g, 0, strip_tiles, results + results_.value());
                chunk.TransformPixels(0, strip_tiles);
                chunk.Multiply(0, WinogradProducts(kTile));
                chunk.TransformSums(0, strip_tiles);
                const TensorView to = RowsOf(out, n, y, g.out_height);
                CopyConvertible(ChannelsLast(to.sizes, results), to);
              }
            });
}

}  // namespace belay
