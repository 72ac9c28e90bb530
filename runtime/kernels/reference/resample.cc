// Image resampling, grid sampling and col2im. Positions and weights are computed in double
// precision, except that nearest neighbors are selected in float, as in PyTorch.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/resample.h"
#include "runtime/kernels/operands/antialias.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/grid_axis.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/upsample_kernels.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Calls fn(input image offset, y, x, output offset) for every pixel of the output.
template <class Fn>
void ForEachPixel(const TensorView& input, const TensorView& output, Fn&& fn) {
  if (output.numel() == 0) return;  // any number of rows
  for (int64_t n = 0; n < output.sizes[0]; ++n) {
    for (int64_t c = 0; c < output.sizes[1]; ++c) {
      const int64_t image = n * input.strides[0] + c * input.strides[1];
      for (int64_t y = 0; y < output.sizes[2]; ++y) {
        for (int64_t x = 0; x < output.sizes[3]; ++x) {
          fn(n, image, y, x,
             n * output.strides[0] + c * output.strides[1] + y * output.strides[2] +
                 x * output.strides[3]);
        }
      }
    }
  }
}

void FillBilinear(const Upsample& u, bool align_corners) {
  const Reader<double> in(*u.input);
  const Writer<double> write(*u.output);
  const int64_t row = u.input->strides[2], column = u.input->strides[3];
  ForEachPixel(
      *u.input, *u.output, [&](int64_t, int64_t image, int64_t y, int64_t x, int64_t offset) {
        const Neighbors v = LinearNeighbors(u.axes[0], y, align_corners);
        const Neighbors h = LinearNeighbors(u.axes[1], x, align_corners);
        const auto at = [&](int64_t i) {
          const double first = in(image + i * row + h.first * column);
          if (IsCopied(u.axes[1])) return first;
          return (1 - h.share) * first + h.share * in(image + i * row + h.second * column);
        };
        write(offset, IsCopied(u.axes[0]) ? at(v.first)
                                          : (1 - v.share) * at(v.first) + v.share * at(v.second));
      });
}

void FillNearest(const Upsample& u) {
  const Reader<double> in(*u.input);
  const Writer<double> write(*u.output);
  ForEachPixel(*u.input, *u.output,
               [&](int64_t, int64_t image, int64_t y, int64_t x, int64_t offset) {
                 write(offset, in(image + NearestIndex(u.axes[0], y) * u.input->strides[2] +
                                  NearestIndex(u.axes[1], x) * u.input->strides[3]));
               });
}

template <class Filter>
void FillAntialiased(const Upsample& u, bool align_corners) {
  const bool first_row_only = BlendsFirstRowOnly(u);
  const Reader<double> in(*u.input);
  const Writer<double> write(*u.output);
  ForEachPixel(
      *u.input, *u.output, [&](int64_t, int64_t image, int64_t y, int64_t x, int64_t offset) {
        const Window<Filter> v = WindowAt<Filter>(u.axes[0], first_row_only ? 0 : y, align_corners);
        const Window<Filter> h = WindowAt<Filter>(u.axes[1], x, align_corners);
        double sum = 0;
        for (int64_t i = v.first; i < v.last; ++i) {
          double row = 0;
          for (int64_t k = h.first; k < h.last; ++k) {
            row += h(k) / h.total * in(image + i * u.input->strides[2] + k * u.input->strides[3]);
          }
          sum += v(i) / v.total * row;
        }
        write(offset, sum);
      });
}

// ---- uint8 images, in integer arithmetic

// Weights along one dimension: calls fn(index, weight) for each pixel that contributes to a
// position.
struct LinearWeights {
  template <class Fn>
  static void At(const Axis& axis, int64_t place, bool align_corners, Fn&& fn) {
    const Neighbors n = LinearNeighbors(axis, place, align_corners);
    if (n.first == n.second) return fn(n.first, (1 - n.share) + n.share);
    fn(n.first, 1 - n.share);
    fn(n.second, n.share);
  }
};
template <class Filter>
struct FilterWeights {
  template <class Fn>
  static void At(const Axis& axis, int64_t place, bool align_corners, Fn&& fn) {
    const Window<Filter> window = WindowAt<Filter>(axis, place, align_corners);
    for (int64_t i = window.first; i < window.last; ++i) fn(i, window(i) / window.total);
  }
};

// One dimension: weights as 16-bit integers, scaled by one power of two for all positions.
template <class Weights>
class ByteAxis {
 public:
  ByteAxis(const Axis& axis, bool align_corners) : axis_(axis), align_corners_(align_corners) {
    constexpr int kMost = 22;
    double largest = 0;
    for (int64_t place = 0; place < axis.out; ++place) {
      Weights::At(axis_, place, align_corners_,
                  [&](int64_t, double w) { largest = std::fmax(largest, w); });
    }
    while (shift_ < kMost && 0.5 + largest * std::ldexp(1.0, shift_ + 1) < 0x1p15) ++shift_;
  }
  // Blends bytes and rounds to a byte.
  template <class Fn>
  int64_t Blend(int64_t place, Fn&& byte) const {
    int64_t sum = int64_t{1} << shift_ >> 1;
    Weights::At(axis_, place, align_corners_, [&](int64_t i, double w) {
      const double scaled = std::ldexp(w, shift_);
      // A filter whose sum is nearly 0 has no weights.
      if (!(std::fabs(scaled) < 0x1p16)) return;
      sum += static_cast<int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5) * byte(i);
    });
    return std::clamp<int64_t>(sum >> shift_, 0, 255);
  }

 private:
  const Axis& axis_;
  bool align_corners_;
  int shift_ = 0;
};

// Resamples columns, rounded to bytes, then rows. For images of one column, PyTorch gives wrong
// results or crashes; here they are treated like all others.
template <class Weights>
void FillBytes(const Upsample& u, bool align_corners) {
  if (u.output->numel() == 0) return;
  const ByteAxis<Weights> rows(u.axes[0], align_corners), columns(u.axes[1], align_corners);
  const Reader<int64_t> in(*u.input);
  const Writer<int64_t> write(*u.output);
  ForEachPixel(*u.input, *u.output,
               [&](int64_t, int64_t image, int64_t y, int64_t x, int64_t offset) {
                 write(offset, rows.Blend(y, [&](int64_t i) {
                   return columns.Blend(x, [&](int64_t k) {
                     return in(image + i * u.input->strides[2] + k * u.input->strides[3]);
                   });
                 }));
               });
}

struct Engine {
  static absl::Status Bilinear(KernelContext&, const Upsample& u, bool align_corners) {
    if (u.input->dtype == DType::kUint8) {
      FillBytes<LinearWeights>(u, align_corners);
      return absl::OkStatus();
    }
    FillBilinear(u, align_corners);
    return absl::OkStatus();
  }
  static absl::Status Nearest(KernelContext&, const Upsample& u) {
    FillNearest(u);
    return absl::OkStatus();
  }
};
template <class Filter>
struct AntialiasedEngine {
  static absl::Status Bilinear(KernelContext&, const Upsample& u, bool align_corners) {
    if (u.input->dtype == DType::kUint8) {
      FillBytes<FilterWeights<Filter>>(u, align_corners);
    } else {
      FillAntialiased<Filter>(u, align_corners);
    }
    return absl::OkStatus();
  }
};

// ---- grid_sampler_2d

absl::Status GridSampler2d(KernelContext& context, const GridSampleCall<KernelArguments, 2>& call) {
  const auto& [input, grid, interpolation, padding, align_corners] = call;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, shape));

  const bool narrow = interpolation == kNearest && input->dtype != DType::kFloat64;
  const GridAxis vertical = {input->sizes[2], padding, align_corners, narrow};
  const GridAxis horizontal = {input->sizes[3], padding, align_corners, narrow};
  const Reader<double> in(*input), place(*grid);
  const Writer<double> write(*out);
  ForEachPixel(*input, *out, [&](int64_t n, int64_t image, int64_t y, int64_t x, int64_t offset) {
    // Pixels outside the image are zeros. They are also multiplied by their weights, so that NaN
    // propagates.
    const auto pixel = [&](double row, double column) {
      const int64_t i = vertical.Index(row), k = horizontal.Index(column);
      return i < 0 || k < 0 ? 0.0 : in(image + i * input->strides[2] + k * input->strides[3]);
    };
    const int64_t at = n * grid->strides[0] + y * grid->strides[1] + x * grid->strides[2];
    const double h = horizontal.FromGrid(place(at));
    const double v = vertical.FromGrid(place(at + grid->strides[3]));
    if (interpolation == kBicubic) {
      double rows[4], columns[4], sum = 0;
      CubicWeights(v - std::floor(v), rows);
      CubicWeights(h - std::floor(h), columns);
      for (int i = 0; i < 4; ++i) {
        double row = 0;
        for (int k = 0; k < 4; ++k) {
          row += columns[k] * pixel(vertical.Padded(std::floor(v) + (i - 1)),
                                    horizontal.Padded(std::floor(h) + (k - 1)));
        }
        sum += rows[i] * row;
      }
      return write(offset, sum);
    }
    const double row = vertical.Padded(v), column = horizontal.Padded(h);
    if (interpolation == kNearest) {
      return write(offset, pixel(std::nearbyint(row), std::nearbyint(column)));
    }
    const double top = std::floor(row), left = std::floor(column);
    const double down = row - top, right = column - left;
    write(offset,
          (1 - down) * (1 - right) * pixel(top, left) + (1 - down) * right * pixel(top, left + 1) +
              down * (1 - right) * pixel(top + 1, left) + down * right * pixel(top + 1, left + 1));
  });
  return absl::OkStatus();
}

// grid_sampler_3d: eight neighbors instead of four, or the nearest.
absl::Status GridSampler3d(KernelContext& context, const GridSampleCall<KernelArguments, 3>& call) {
  const auto& [input, grid, interpolation, padding, align_corners] = call;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, shape));

  constexpr int kSpatial = 3;
  GridAxis axes[kSpatial];
  for (int d = 0; d < kSpatial; ++d) {
    axes[d] = {input->sizes[d + 2], padding, align_corners, input->dtype != DType::kFloat64, true};
  }
  const Reader<double> in(*input), place(*grid);
  const Writer<double> write(*out);
  // Strides of the grid over the output's dimensions; channels share a position.
  const Strides steps = {grid->strides[0], 0, grid->strides[1], grid->strides[2], grid->strides[3]};
  const Strides images = {input->strides[0], input->strides[1], 0, 0, 0};
  for (StridedIterator<3> it(out->sizes, {out->strides, steps, images}); !it.done(); it.Next()) {
    double at[kSpatial];
    for (int d = 0; d < kSpatial; ++d) {
      // x, the last spatial dimension, is stored first.
      const double x = place(it.offset(1) + (kSpatial - 1 - d) * grid->strides[4]);
      at[d] = axes[d].Padded(axes[d].FromGrid(x));
    }
    // Positions outside the volume are skipped, whatever their weight.
    const auto weighed = [&](const double(&where)[kSpatial], double weight) {
      int64_t offset = it.offset(2);
      for (int d = 0; d < kSpatial; ++d) {
        const int64_t i = axes[d].Index(where[d]);
        if (i < 0) return 0.0;
        offset += i * input->strides[d + 2];
      }
      return weight * in(offset);
    };
    if (interpolation == kNearest) {
      write(it.offset(0),
            weighed({std::nearbyint(at[0]), std::nearbyint(at[1]), std::nearbyint(at[2])}, 1));
      continue;
    }
    double sum = 0;
    for (int corner = 0; corner < 1 << kSpatial; ++corner) {
      double weight = 1, where[kSpatial];
      for (int d = 0; d < kSpatial; ++d) {
        const double low = std::floor(at[d]), share = at[d] - low;
        const bool high = (corner >> d & 1) != 0;
        weight *= high ? share : 1 - share;
        where[d] = high ? low + 1 : low;
      }
      sum += weighed(where, weight);
    }
    write(it.offset(0), sum);
  }
  return absl::OkStatus();
}

// ---- col2im

// Index of the window whose element `k` is at `pixel`, or -1.
int64_t WindowPlace(const PatchParams& p, int d, int64_t pixel, int64_t k, int64_t places) {
  const int64_t start = pixel + p.padding[d] - k * p.dilation[d];
  if (start < 0 || start % p.stride[d] != 0) return -1;
  const int64_t place = start / p.stride[d];
  return place < places ? place : -1;
}

absl::Status Col2Im(KernelContext& context, const Col2ImCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  const PatchParams& p = call.params;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, self->dtype, shape));
  if (out->numel() == 0) return absl::OkStatus();  // any number of images

  int64_t places[2];
  for (int d = 0; d < 2; ++d) {
    places[d] = WindowCount<CheckedInt>(call.output_size[d], p.kernel[d], p.stride[d], p.padding[d],
                                        p.dilation[d])
                    .value();
  }
  const int rank = self->rank();
  const int64_t row = self->strides[rank - 2], column = self->strides[rank - 1];
  const int64_t batch_in = rank == 3 ? self->strides[0] : 0;
  const Sizes batched = {rank == 3 ? out->sizes[0] : 1, out->sizes[rank - 2], out->sizes[rank - 1],
                         out->sizes[rank]};
  const Strides to = {rank == 3 ? out->strides[0] : 0, out->strides[rank - 2],
                      out->strides[rank - 1], out->strides[rank]};
  WithComputeType(self->dtype, [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> in(*self);
    const Writer<T> write(*out);
    for (int64_t n = 0; n < batched[0]; ++n) {
      for (int64_t c = 0; c < batched[1]; ++c) {
        for (int64_t y = 0; y < batched[2]; ++y) {
          for (int64_t x = 0; x < batched[3]; ++x) {
            T sum = 0;
            for (int64_t i = 0; i < p.kernel[0]; ++i) {
              const int64_t py = WindowPlace(p, 0, y, i, places[0]);
              if (py < 0) continue;
              for (int64_t k = 0; k < p.kernel[1]; ++k) {
                const int64_t px = WindowPlace(p, 1, x, k, places[1]);
                if (px < 0) continue;
                sum = WrappingAdd(
                    sum, in(n * batch_in + ((c * p.kernel[0] + i) * p.kernel[1] + k) * row +
                            (py * places[1] + px) * column));
              }
            }
            write(n * to[0] + c * to[1] + y * to[2] + x * to[3], sum);
          }
        }
      }
    }
  });
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&UpsampleBilinear<Engine>>("aten.upsample_bilinear2d.vec", kUpsampleBilinearVec,
                                         "UpsampleBilinear2dVec", kReference),
    KernelRow<&UpsampleBilinear<Engine>>("aten.upsample_bilinear2d.default", kUpsampleBilinear,
                                         "UpsampleBilinear2d", kReference),
    KernelRow<&UpsampleBilinear<AntialiasedEngine<CubicFilter>>>(
        "aten._upsample_bicubic2d_aa.default", kUpsampleBilinear, "UpsampleBicubic2dAntialiased",
        kReference),
    KernelRow<&UpsampleBilinear<AntialiasedEngine<TriangleFilter>>>(
        "aten._upsample_bilinear2d_aa.default", kUpsampleBilinear, "UpsampleBilinear2dAntialiased",
        kReference),
    KernelRow<&UpsampleBilinear<AntialiasedEngine<LanczosFilter>>>(
        "aten._upsample_lanczos2d_aa.default", kUpsampleBilinear, "UpsampleLanczos2dAntialiased",
        kReference),
    KernelRow<&UpsampleNearest<Engine>>("aten.upsample_nearest2d.vec", kUpsampleNearestVec,
                                        "UpsampleNearest2dVec", kReference),
    KernelRow<&UpsampleNearest<Engine>>("aten.upsample_nearest2d.default", kUpsampleNearest,
                                        "UpsampleNearest2d", kReference),
    KernelRow<&GridSampler2d>("aten.grid_sampler_2d.default",
                              "input grid interpolation_mode padding_mode align_corners",
                              "GridSampler2d", kReference),
    KernelRow<&GridSampler3d>("aten.grid_sampler_3d.default",
                              "input grid interpolation_mode padding_mode align_corners",
                              "GridSampler3d", kReference),
    KernelRow<&Col2Im>("aten.col2im.default",
                       "self output_size kernel_size dilation padding stride", "Col2Im",
                       kReference),
};

}  // namespace

absl::Span<const Kernel> ResampleKernels() { return kKernels; }

}  // namespace belay
