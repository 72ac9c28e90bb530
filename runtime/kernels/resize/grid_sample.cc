#include "runtime/kernels/resize/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/grid_axis.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay {
namespace {

// GridAxis::Unnormalized of many positions.
template <class T>
void Unnormalize(const GridAxis& axis, const float* grid, int64_t step, int64_t count, double* at) {
  const T scale = static_cast<T>(axis.align_corners ? axis.size - 1 : axis.size) / 2;
  const T shift = axis.align_corners ? T(0) : T(0.5);
  for (int64_t p = 0; p < count; ++p) {
    at[p] = static_cast<double>((static_cast<T>(grid[p * step]) + 1) * scale - shift);
  }
}

// Reflect() of positions: without branches near the image, where most are.
void ReflectAll(double low, double high, int64_t count, double* at) {
  const double span = high - low;
  bool far = span == 0;
  double near[kGridPositions];
  for (int64_t p = 0; p < count; ++p) {
    const double distance = std::fabs(at[p] - low), turns = distance / span;
    const double rest = distance < span ? distance : distance - span;
    near[p] = turns >= 1 ? span - rest + low : rest + low;
    far = far | !((turns < 2) & (distance < 2 * span));
  }
  for (int64_t p = 0; p < count; ++p) at[p] = far ? Reflect(at[p], low, high) : near[p];
}

// Positions along one dimension in pixels: from `grid`, elements `step` apart.
void PositionsOf(const GridAxis& axis, const float* grid, int64_t step, int64_t count, double* at) {
  axis.narrow ? Unnormalize<float>(axis, grid, step, count, at)
              : Unnormalize<double>(axis, grid, step, count, at);
  const auto last = static_cast<double>(axis.size - 1);
  if (axis.padding == kZeros) return;
  if (axis.padding == kReflection) {
    axis.align_corners ? ReflectAll(0, last, count, at) : ReflectAll(-0.5, last + 0.5, count, at);
  }
  // GridAxis::Padded of NaN.
  const double unordered = axis.volume ? last : 0;
  for (int64_t p = 0; p < count; ++p) {
    const double x = std::isnan(at[p]) ? unordered : at[p], low = x < 0 ? 0 : x;
    at[p] = low > last ? last : low;
  }
}

// The neighbors along one dimension; returns their number.
int TapsOf(const GridAxis& axis, int64_t interpolation, const float* grid, int64_t step,
           int64_t count, GridTaps& taps) {
  double at[kGridPositions];
  if (interpolation == kBicubic) {
    for (int64_t p = 0; p < count; ++p) {
      const double x = axis.FromGrid(static_cast<double>(grid[p * step])), low = std::floor(x);
      double weights[4];
      CubicWeights(x - low, weights);
      for (int k = 0; k < 4; ++k) {
        taps.index[k][p] = static_cast<int32_t>(axis.Index(axis.Padded(low + (k - 1))));
        taps.weight[k][p] = static_cast<float>(weights[k]);
      }
    }
    return 4;
  }
  PositionsOf(axis, grid, step, count, at);
  if (interpolation == kNearest) {
    NearestTaps(at, count, axis.size, taps);
    return 1;
  }
  LinearTaps(at, count, axis.size, taps);
  return 2;
}

// Appends a dimension: neighbors are the pairs of previous neighbors and taps.
int Combined(const GridTaps& taps, int num_taps, int32_t stride, int64_t count, int neighbors,
             GridNeighbors& at) {
  // From the last, since results replace operands.
  for (int k = neighbors - 1; k >= 0; --k) {
    for (int t = num_taps - 1; t >= 0; --t) {
      int32_t* const offset = at.offset[k * num_taps + t];
      float* const weight = at.weight[k * num_taps + t];
      for (int64_t p = 0; p < count; ++p) {
        const int32_t before = at.offset[k][p], index = taps.index[t][p];
        offset[p] = before < 0 || index < 0 ? -1 : before + index * stride;
        weight[p] = at.weight[k][p] * taps.weight[t][p];
      }
    }
  }
  return neighbors * num_taps;
}

// Distance from the first to the last element of an image of one batch element and channel.
CheckedInt ReachOf(const TensorView& input) {
  CheckedInt reach = 0;
  for (int d = 2; d < input.rank(); ++d) {
    reach = reach + CheckedInt(input.sizes[d] - 1) * input.strides[d];
  }
  return reach;
}

bool FitsGrid(const TensorView& input) {
  return input.numel() > 0 && ReachOf(input) < std::numeric_limits<int32_t>::max();
}

// Images as the loops read them: in place, or a copy channels last.
struct GridImages {
  const float* data = nullptr;
  int64_t batch = 0, channel = 0;  // strides
  Strides spatial;
};

GridImages InPlace(const TensorView& input) {
  GridImages images = {input.as<const float>(), input.strides[0], input.strides[1], input.strides};
  images.spatial.erase(1);
  images.spatial.erase(0);
  return images;
}

// Floats of a copy whose pixels are blended by vectors of channels; nullopt if gathers from the images
// take less time, or if the copy is large.
std::optional<int64_t> CopyFloats(const TensorView& input, const Sizes& out,
                                  int64_t interpolation) {
  constexpr int64_t kFewChannels = 8, kMostFloats = int64_t{1} << 22;
  const int64_t floats = input.numel();
  if (interpolation == kNearest || input.strides[1] == 1 || input.sizes[1] < kFewChannels ||
      floats > kMostFloats || *NumElements(out) < floats / 2) {
    return std::nullopt;
  }
  return floats;
}

// Copies the images channels last, on all threads.
GridImages CopyImages(const KernelContext& context, const TensorView& input, float* to) {
  const int64_t channels = input.sizes[1], rows = input.sizes[2];
  GridImages images = {.data = to, .channel = 1, .spatial = Strides(input.rank() - 2, channels)};
  for (int d = input.rank() - 4; d >= 0; --d) {
    images.spatial[d] = images.spatial[d + 1] * input.sizes[d + 3];
  }
  images.batch = images.spatial[0] * rows;
  TensorView from, copy;
  from.strides = {input.strides[1]};
  from.sizes = {channels};
  copy.strides = {1};
  for (int d = 3; d < input.rank(); ++d) {
    from.sizes.push_back(input.sizes[d]);
    from.strides.push_back(input.strides[d]);
    copy.strides.push_back(images.spatial[d - 2]);
  }
  copy.sizes = from.sizes;
  RunRanges(context, input.sizes[0] * rows, 1, static_cast<double>(input.numel()),
            [&](int, int64_t first, int64_t last) {
              TensorView row = from, target = copy;
              for (int64_t i = first; i < last; ++i) {
                row.data = const_cast<float*>(input.as<const float>()) +
                           i / rows * input.strides[0] + i % rows * input.strides[2];
                target.data = to + i * images.spatial[0];
                CopyConvertible(row, target);
              }
            });
  return images;
}

// Blends `count` pixels, some channels at a time, and stores them channel by channel.
void BlendPlanes(const GridNeighbors& at, int neighbors, int64_t count, const float* image,
                 int64_t channels, float* out, int64_t channel_step, int64_t step) {
  constexpr int64_t kChannels = 32;
  alignas(64) float tile[kGridPositions * kChannels];
  for (int64_t c = 0; c < channels; c += kChannels) {
    const int64_t some = std::min(kChannels, channels - c);
    BlendPixels(at, neighbors, count, image + c, some, tile, some);
    TensorView from, to;
    from.sizes = to.sizes = {some, count};
    from.strides = {1, some};
    from.data = tile;
    to.strides = {channel_step, step};
    to.data = out + c * channel_step;
    CopyConvertible(from, to);
  }
}

}  // namespace

template <int kSpatial>
uint64_t GridScratch(const KernelContext& context,
                     const GridSampleCall<KernelArguments, kSpatial>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  if (!out.ok() || call.input->rank() != kSpatial + 2) return 0;
  return ScratchBytesOf<float>(
      CopyFloats(*call.input, (*out)->sizes, call.interpolation).value_or(0));
}

bool AcceptsGrid(const KernelContext& context, const TensorView& input, const TensorView& grid) {
  return input.dtype == DType::kFloat32 && grid.dtype == DType::kFloat32 && FitsGrid(input);
}

template <int kSpatial>
absl::Status GridSample(KernelContext& context,
                        const GridSampleCall<KernelArguments, kSpatial>& call) {
  const TensorView &input = *call.input, &grid = *call.grid;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input.dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();
  if (!FitsGrid(input)) return absl::InternalError("the call changed after the kernel was chosen");

  GridAxis axes[kSpatial];
  const bool narrow = kSpatial == 3 || call.interpolation == kNearest;
  for (int d = 0; d < kSpatial; ++d) {
    axes[d] = {input.sizes[d + 2], call.padding, call.align_corners, narrow, kSpatial == 3};
  }
  const int64_t channels = out->sizes[1], out_step = out->strides[kSpatial + 1],
                grid_step = grid.strides[kSpatial];
  int64_t width = out->sizes[kSpatial + 1];
  // Rows of the output, over all dimensions except channels and width.
  Sizes rows = {out->sizes[0]};
  // Memory for the copy was planned for the largest sizes only.
  const std::optional<int64_t> floats = CopyFloats(input, out->sizes, call.interpolation);
  GridImages images = InPlace(input);
  if (floats.has_value()) {
    const absl::StatusOr<float*> copy = ScratchArray<float>(context, *floats);
    if (copy.ok()) images = CopyImages(context, input, *copy);
  }
  Strides grid_steps = {grid.strides[0]}, out_steps = {out->strides[0]},
          batch_steps = {images.batch};
  for (int d = 0; d + 1 < kSpatial; ++d) {
    rows.push_back(out->sizes[d + 2]);
    grid_steps.push_back(grid.strides[d + 1]);
    out_steps.push_back(out->strides[d + 2]);
    batch_steps.push_back(0);
  }
  // Rows that follow each other are one: many grids have few positions per row.
  while (rows.size() > 1 && grid_steps.back() == grid_step * width &&
         out_steps.back() == out_step * width) {
    const int row = rows.size() - 1;
    width *= rows[row];
    rows.erase(row);
    grid_steps.erase(row);
    out_steps.erase(row);
    batch_steps.erase(row);
  }
  const int64_t steps_of_row = (width + kGridPositions - 1) / kGridPositions;
  const int64_t count_of_rows = out->numel() / (channels * width);
  const bool pixels = channels > 1 && images.channel == 1;
  const int most = call.interpolation == kBicubic ? 16 : call.interpolation == kNearest ? 1 : 8;
  RunRanges(
      context, count_of_rows * steps_of_row, 1,
      static_cast<double>(out->numel()) * (most + kElementWork),
      [&](int, int64_t first, int64_t last) {
        GridTaps taps;
        GridNeighbors at;
        float result[kGridPositions];
        // Elements after the last position are read by whole vectors.
        std::memset(&at, 0, sizeof(at));
        Budget::Pace pace;
        for (int64_t i = first; i < last; ++i) {
          const int64_t row = i / steps_of_row, x = i % steps_of_row * kGridPositions;
          const int64_t count = std::min(kGridPositions, width - x);
          if (pace.Stop(count * (channels + 8) * (most + 1))) return;
          const float* const positions =
              grid.as<const float>() + OffsetAt(row, rows, grid_steps) + x * grid_step;
          int neighbors = 1;
          std::fill_n(at.offset[0], count, 0);
          std::fill_n(at.weight[0], count, 1.0f);
          for (int d = 0; d < kSpatial; ++d) {
            // x, the last spatial dimension, is stored first.
            const float* const from = positions + (kSpatial - 1 - d) * grid.strides[kSpatial + 1];
            const int num_taps = TapsOf(axes[d], call.interpolation, from, grid_step, count, taps);
            neighbors =
                Combined(taps, num_taps,
                         static_cast<int32_t>(input.sizes[d + 2] > 1 ? images.spatial[d] : 0),
                         count, neighbors, at);
          }
          if (kSpatial == 3) {
            // Positions outside the volume are skipped, whatever their weight.
            for (int k = 0; k < neighbors; ++k) {
              for (int64_t p = 0; p < count; ++p) {
                if (at.offset[k][p] < 0) at.weight[k][p] = 0;
              }
            }
          }
          const float* const image = images.data + OffsetAt(row, rows, batch_steps);
          float* const to = out->as<float>() + OffsetAt(row, rows, out_steps) + x * out_step;
          if (pixels && out->strides[1] == 1) {
            BlendPixels(at, neighbors, count, image, channels, to, out_step);
            continue;
          }
          if (pixels) {
            BlendPlanes(at, neighbors, count, image, channels, to, out->strides[1], out_step);
            continue;
          }
          for (int64_t c = 0; c < channels; ++c) {
            float* const line = to + c * out->strides[1];
            float* const target = out_step == 1 ? line : result;
            BlendPositions(at, neighbors, count, image + c * images.channel, target);
            for (int64_t p = 0; target == result && p < count; ++p) line[p * out_step] = result[p];
          }
        }
      });
  return absl::OkStatus();
}

template uint64_t GridScratch<2>(const KernelContext&, const GridSampleCall<KernelArguments, 2>&);
template uint64_t GridScratch<3>(const KernelContext&, const GridSampleCall<KernelArguments, 3>&);
template absl::Status GridSample<2>(KernelContext&, const GridSampleCall<KernelArguments, 2>&);
template absl::Status GridSample<3>(KernelContext&, const GridSampleCall<KernelArguments, 3>&);

}  // namespace belay
