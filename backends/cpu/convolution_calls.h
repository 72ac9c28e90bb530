// belay_cpu::convolution: convolutions over two or three dimensions that conv2d and depthwise_conv2d
// do not compute: grouped, transposed and volumes.
//
//   input [n, groups * k, ...] -> [n, out_channels, ...], both channels last.
//
// With m = out_channels / groups, result channel g * m + j reads input channels [g * k, (g + 1) * k):
//
//   not transposed:  out[o] = sum over taps t of in[o * stride - padding + t * dilation] W[t]
//   transposed:      out[o] = sum over taps t and pixels i with
//                             o = i * stride - padding + t * dilation of in[i] W[t]
//
// Results o = phase (mod stride) of a transposed convolution read every (stride / gcd(stride,
// dilation))-th tap at neighboring pixels: each phase is a convolution of stride 1. The weight is
// packed phase by phase: for each first tap [z, y, x], in row-major order of [0, tap_step), the groups'
// matrices [taps of the phase * k, m] (runtime/kernels/packed/packed_weights.h), the taps row by row,
// channels innermost: those of narrow groups (runtime/kernels/packed/narrow_groups.h) as depthwise
// weights, all others as groups. Not transposed: one phase of all taps.
#ifndef BELAY_BACKENDS_CPU_CONVOLUTION_CALLS_H_
#define BELAY_BACKENDS_CPU_CONVOLUTION_CALLS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "backends/cpu/calls.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/convolution.h"
#include "runtime/kernels/packed/narrow_groups.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/winograd_tiles.h"
#include "runtime/kernels/packed/winograd_weights.h"

namespace belay::cpu {

// Returns the largest kernel size, stride, dilation, padding and output padding of a call. Transposed
// convolutions iterate over phases.
constexpr int64_t MaxWindowNumber(bool transposed) { return transposed ? 256 : int64_t{1} << 24; }

// The window along one dimension.
struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t padding = 0, padding_after = 0;
  int64_t output_padding = 0;
  bool transposed = false;

  // Taps t, t + tap_step(), ... belong to one phase.
  int64_t tap_step() const { return transposed ? stride / std::gcd(stride, dilation) : 1; }
  // Phases that have taps: those of first taps 0 to phases() - 1.
  int64_t phases() const { return std::min(tap_step(), kernel); }
  int64_t taps_of(int64_t first) const { return (kernel - 1 - first) / tap_step() + 1; }
  // Taps of all phases below `first`.
  int64_t taps_below(int64_t first) const {
    return first * (kernel / tap_step()) + std::min(first, kernel % tap_step());
  }
};

// Windows over volumes [n, c, depth, height, width] (spatial 3) or images (spatial 2, depth 1).
struct VolumeWindow {
  std::array<WindowAxis, 3> axes;  // depth, height, width
  int spatial = 2;

  // The window along dimension 2 + s of the input.
  WindowAxis& axis(int s) { return axes[static_cast<size_t>(3 - spatial + s)]; }
  const WindowAxis& axis(int s) const { return axes[static_cast<size_t>(3 - spatial + s)]; }

  CheckedInt taps() const {
    return CheckedInt(axes[0].kernel) * CheckedInt(axes[1].kernel) * CheckedInt(axes[2].kernel);
  }
  // Taps of the phase with the most taps.
  CheckedInt most_taps() const {
    return CheckedInt(axes[0].taps_of(0)) * CheckedInt(axes[1].taps_of(0)) *
           CheckedInt(axes[2].taps_of(0));
  }
};

// Window over images as one over volumes of depth 1, and the window in a plane of volumes.
inline VolumeWindow VolumeWindowOf(const Window& window) {
  VolumeWindow volumes;
  for (size_t s = 0; s < 2; ++s) {
    volumes.axes[s + 1] = {.kernel = window.kernel_size[s],
                           .stride = window.stride[s],
                           .dilation = window.dilation[s],
                           .padding = window.padding[s],
                           .padding_after = window.padding_after[s]};
  }
  return volumes;
}
inline Window PlaneOf(const VolumeWindow& volumes) {
  Window window;
  for (size_t s = 0; s < 2; ++s) {
    const WindowAxis& axis = volumes.axes[s + 1];
    window.kernel_size[s] = axis.kernel;
    window.stride[s] = axis.stride;
    window.dilation[s] = axis.dilation;
    window.padding[s] = axis.padding;
    window.padding_after[s] = axis.padding_after;
  }
  return window;
}

// Sizes [n, c, ...] as [n, depth, height, width].
inline std::array<int64_t, 4> VolumeSizes(const Sizes& sizes) {
  const int last = sizes.size() - 1;
  return {sizes[0], sizes.size() == 5 ? sizes[2] : 1, sizes[last - 1], sizes[last]};
}

// Floats of the packed weight per tap and input channel of a group. Precondition: the packed size does
// not overflow.
inline int64_t PackedTapFloats(int64_t groups, int64_t k, int64_t out_channels) {
  const int64_t n = out_channels / groups;
  if (!IsNarrowGroup(groups, k, n)) return PackedGroupPanels(groups, n) * kPanelColumns;
  return (out_channels + kDepthwiseChannels - 1) / kDepthwiseChannels * kDepthwiseChannels;
}

// Floats of the packed weight for `k` input channels of a group. nullopt on overflow.
inline std::optional<int64_t> PackedVolumeFiltersSize(const VolumeWindow& window, int64_t groups,
                                                      int64_t k, int64_t out_channels) {
  const CheckedInt rows = window.taps() * CheckedInt(k);
  if (!rows.ok() || groups < 1 || out_channels % groups != 0) return std::nullopt;
  if (IsNarrowGroup(groups, k, out_channels / groups)) {
    return PackedDepthwiseSize(out_channels, rows.value());
  }
  return PackedGroupsSize(groups, rows.value(), out_channels / groups);
}

template <class Arguments>
struct GeneralConvolutionCall {
  using D = typename Arguments::Dim;
  typename Arguments::TensorRef input, weight;
  int64_t out_channels = 0, groups = 1;
  bool transposed = false;
  VolumeWindow window;
  EpilogueCall<Arguments> epilogue;

  // `types` are those of the input, the weight and the result.
  static absl::StatusOr<GeneralConvolutionCall> Read(const Arguments& arguments,
                                                     DTypeSet types = kFloat) {
    GeneralConvolutionCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", types));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", types));
    ABSL_ASSIGN_OR_RETURN(call.out_channels, ReadFeatures(arguments, "out_channels"));
    ABSL_ASSIGN_OR_RETURN(call.groups, ReadFeatures(arguments, "groups"));
    ABSL_ASSIGN_OR_RETURN(call.transposed, arguments.Bool("transposed"));
    ABSL_RETURN_IF_ERROR(call.ReadWindow(arguments));
    ABSL_ASSIGN_OR_RETURN(call.epilogue, EpilogueCall<Arguments>::Read(arguments, types));
    if (call.out_channels % call.groups == 0) return call;
    return absl::InvalidArgumentError(absl::StrCat("groups: expected a divisor of out_channels ",
                                                   call.out_channels, ", got ", call.groups));
  }

  // Input channels of a group.
  absl::StatusOr<int64_t> GroupChannels() const {
    const Dims<D> sizes(Arguments::SizesOf(input));
    const absl::Span<const D> in = sizes;
    const std::optional<int64_t> channels =
        in.size() == static_cast<size_t>(window.spatial) + 2 ? KnownInt(in[1]) : std::nullopt;
    if (channels.has_value() && *channels % groups == 0) return *channels / groups;
    return absl::InvalidArgumentError(
        absl::StrCat("input: expected [n, c, ...] of rank ", window.spatial + 2,
                     " and known channels, a multiple of ", groups, ", got ", FormatDims<D>(in)));
  }

  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t k, GroupChannels());
    return ShapeOf(PackedVolumeFiltersSize(window, groups, k, out_channels));
  }

 protected:
  // Like Shape(), given the element count of the packed weight.
  absl::StatusOr<Dims<D>> ShapeOf(std::optional<int64_t> packed_size) const {
    ABSL_RETURN_IF_ERROR(CheckPackedSize<D>(Arguments::SizesOf(weight), packed_size));
    Dims<D> shape = Dims<D>(Arguments::SizesOf(input));
    shape[1] = D(out_channels);
    for (int s = 0; s < window.spatial; ++s) {
      const WindowAxis& a = window.axis(s);
      D& size = shape[2 + s];
      if (transposed) {
        const int64_t reach =
            a.dilation * (a.kernel - 1) + a.output_padding + 1 - a.padding - a.padding_after;
        size = (size - D(int64_t{1})) * D(a.stride) + D(reach);
      } else {
        size = WindowCount(size + D(a.padding + a.padding_after), D(a.kernel), a.stride,
                           /*padding=*/0, a.dilation);
      }
      const std::optional<int64_t> known = KnownInt(size);
      if (known.has_value() && *known < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("input: ", FormatDims<D>(Arguments::SizesOf(input)),
                         " is too small for the window at dimension ", 2 + s));
      }
    }
    ABSL_RETURN_IF_ERROR(epilogue.CheckShapes(shape, 1));
    return shape;
  }

 private:
  absl::Status ReadWindow(const Arguments& arguments) {
    const auto read = [&](std::string_view name, int64_t least,
                          int64_t WindowAxis::* to) -> absl::StatusOr<Sizes> {
      ABSL_ASSIGN_OR_RETURN(const Sizes list, arguments.StaticIntList(name));
      const int64_t most = MaxWindowNumber(transposed);
      for (int64_t value : list) {
        if (value < least || value > most) {
          return absl::InvalidArgumentError(absl::StrCat(
              name, ": expected numbers from ", least, " to ", most, ", got ", FormatSizes(list)));
        }
      }
      const int count = window.spatial;
      // `padding` may be followed by the padding at the end of each dimension.
      if (list.size() != count && (to != &WindowAxis::padding || list.size() != 2 * count)) {
        return ExactlyPerDimension(name, list, count).status();
      }
      for (int s = 0; s < count; ++s) window.axis(s).*to = list[s];
      return list;
    };
    ABSL_ASSIGN_OR_RETURN(const Sizes kernel, arguments.StaticIntList("kernel_size"));
    if (kernel.size() != 2 && kernel.size() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel_size: expected 2 or 3 numbers, got ", FormatSizes(kernel)));
    }
    window.spatial = kernel.size();
    for (int s = 0; s < window.spatial; ++s) window.axis(s).transposed = transposed;
    ABSL_RETURN_IF_ERROR(read("kernel_size", 1, &WindowAxis::kernel).status());
    ABSL_RETURN_IF_ERROR(read("stride", 1, &WindowAxis::stride).status());
    ABSL_RETURN_IF_ERROR(read("dilation", 1, &WindowAxis::dilation).status());
    ABSL_ASSIGN_OR_RETURN(const Sizes padding, read("padding", 0, &WindowAxis::padding));
    for (int s = 0; s < window.spatial; ++s) {
      window.axis(s).padding_after =
          padding[padding.size() == window.spatial ? s : window.spatial + s];
    }
    ABSL_ASSIGN_OR_RETURN(const Sizes more, read("output_padding", 0, &WindowAxis::output_padding));
    for (int64_t value : more) {
      if (value == 0 || transposed) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("output_padding: expected zeros of a convolution that is not transposed, "
                       "got ",
                       FormatSizes(more)));
    }
    return absl::OkStatus();
  }
};

// Whether winograd_convolution supports the window: 3x3 in each plane, with stride and dilation 1.
inline bool IsForWinograd(const VolumeWindow& window) {
  const auto fits = [](const WindowAxis& a) {
    return a.kernel == 3 && a.stride == 1 && a.dilation == 1 && !a.transposed;
  };
  return window.spatial == 3 && window.axes[0].kernel <= kWinogradPlanes && fits(window.axes[1]) &&
         fits(window.axes[2]);
}

// belay_cpu::winograd_convolution: `convolution` over volumes with windows of 3x3 in each plane, in one
// group. The weight is transformed as that of winograd_conv2d, for all planes of the window.
template <class Arguments>
struct WinogradConvolutionCall : GeneralConvolutionCall<Arguments> {
  using D = typename Arguments::Dim;

  static absl::StatusOr<WinogradConvolutionCall> Read(const Arguments& arguments) {
    using Base = GeneralConvolutionCall<Arguments>;
    WinogradConvolutionCall call;
    ABSL_ASSIGN_OR_RETURN(static_cast<Base&>(call), Base::Read(arguments));
    if (IsForWinograd(call.window) && call.groups == 1) return call;
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_size: expected at most ", kWinogradPlanes,
                     " planes of 3 by 3, with stride and dilation 1 in a plane, in one group, for "
                     "winograd_convolution"));
  }
  absl::StatusOr<Dims<D>> Shape() const {
    ABSL_ASSIGN_OR_RETURN(const int64_t channels, this->GroupChannels());
    return this->ShapeOf(PackedWinogradSize(TileFor(channels), this->window.axes[0].kernel,
                                            channels, this->out_channels));
  }
  // The tile that the weight is transformed for. Precondition: Shape() returned a shape.
  WinogradTile tile() const { return TileFor(*this->GroupChannels()); }

 private:
  WinogradTile TileFor(int64_t channels) const {
    return WinogradTileOf<D>(Arguments::SizesOf(this->weight), this->window.axes[0].kernel,
                             channels, this->out_channels);
  }
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_CONVOLUTION_CALLS_H_
