// Shape rules of resampling and of col2im.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_RESAMPLE_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_RESAMPLE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/core/evalue.h"
#include "runtime/kernel_interface/shape_rules/convolution.h"

namespace belay {

inline constexpr DTypeSet kImageTypes = kFloatTypes | DTypeSet{DType::kUint8};
inline constexpr DTypeSet kPatchTypes = kFloatTypes | kComplexTypes | kBoolType;

// Returns n * scale, rounded towards zero. kInvalidArgument if it is out of range.
inline absl::StatusOr<CheckedInt> ScaledSize(const CheckedInt& n, double scale) {
  const double size = static_cast<double>(n.value()) * scale;
  if (n.ok() && size > -9e18 && size < 9e18) return CheckedInt(static_cast<int64_t>(size));
  return absl::InvalidArgumentError("scale_factors: out of range");
}

// input [n,c,h,w] -> [n,c,*size]. Sizes must be positive; channels and pixels must not be empty.
template <class D>
absl::StatusOr<Dims<D>> UpsampleShape(absl::Span<const D> input, absl::Span<const D> size) {
  if (input.size() != 4 || size.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("upsample: expected an input of rank 4 and two output sizes, got shape ",
                     FormatDims<D>(input), " and sizes ", FormatDims<D>(size)));
  }
  Dims<D> out;
  bool fits = KnownInt(input[1]) != 0;
  for (int d = 0; d < 4; ++d) {
    out.push_back(d < 2 ? input[d] : size[d - 2]);
    const std::optional<int64_t> in = KnownInt(input[d]), result = KnownInt(out[d]);
    if (d >= 2) fits = fits && in.value_or(1) > 0 && result.value_or(1) > 0;
  }
  if (fits) return out;
  return absl::InvalidArgumentError(
      absl::StrCat("upsample: expected sizes of at least 1, got input ", FormatDims<D>(input),
                   " and output size ", FormatDims<D>(size)));
}

// input [n,c,h,w], grid [n,oh,ow,2] -> [n,c,oh,ow].
template <class D>
absl::StatusOr<Dims<D>> GridSampleShape(absl::Span<const D> input, absl::Span<const D> grid,
                                        int spatial = 2) {
  const size_t rank = static_cast<size_t>(spatial) + 2;
  bool fits = input.size() == rank && grid.size() == rank && !KnownDifferent(input[0], grid[0]) &&
              !KnownDifferent(grid[rank - 1], D(int64_t{spatial}));
  for (size_t d = 2; fits && d < rank; ++d) fits = KnownInt(input[d]) != 0;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("grid_sampler_", spatial, "d: expected ",
                     spatial == 2 ? "input [n,c,h,w] with pixels and grid [n,oh,ow,2]"
                                  : "input [n,c,d,h,w] with pixels and grid [n,od,oh,ow,3]",
                     ", got ", FormatDims<D>(input), " and ", FormatDims<D>(grid)));
  }
  Dims<D> out = {input[0], input[1]};
  for (size_t d = 1; d + 1 < rank; ++d) out.push_back(grid[d]);
  return out;
}

struct PatchParams {
  Sizes kernel, dilation, padding, stride;  // two each
};

inline absl::StatusOr<PatchParams> MakePatchParams(absl::Span<const int64_t> kernel,
                                                   absl::Span<const int64_t> dilation,
                                                   absl::Span<const int64_t> padding,
                                                   absl::Span<const int64_t> stride) {
  PatchParams p;
  ABSL_ASSIGN_OR_RETURN(p.kernel, ExactlyPerDimension("kernel_size", kernel, 2));
  ABSL_ASSIGN_OR_RETURN(p.dilation, ExactlyPerDimension("dilation", dilation, 2));
  ABSL_ASSIGN_OR_RETURN(p.padding, ExactlyPerDimension("padding", padding, 2));
  ABSL_ASSIGN_OR_RETURN(p.stride, ExactlyPerDimension("stride", stride, 2));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("kernel_size", p.kernel, 1));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("dilation", p.dilation, 1));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("padding", p.padding, 0));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("stride", p.stride, 1));
  return p;
}

// Patches [n,c*kh*kw,l] or [c*kh*kw,l] -> [n,c,*size] or [c,*size]; l is the number of window
// positions.
template <class D>
absl::StatusOr<Dims<D>> Col2ImShape(absl::Span<const D> input, absl::Span<const D> size,
                                    const PatchParams& p) {
  const size_t rank = input.size();
  if ((rank != 2 && rank != 3) || size.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("col2im: expected an input of rank 2 or 3 and two output sizes, got shape ",
                     FormatDims<D>(input), " and sizes ", FormatDims<D>(size)));
  }
  if (KnownInt(input[rank - 2]) == 0 || KnownInt(input[rank - 1]) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("col2im: patches ", FormatDims<D>(input), " have no elements"));
  }
  const D& rows = input[rank - 2];
  const CheckedInt area = CheckedInt(p.kernel[0]) * p.kernel[1];
  const std::optional<int64_t> known_rows = KnownInt(rows);
  // Each dimension has at most `most` positions, so that their product does not overflow.
  const int64_t most = KnownInt(input[rank - 1]).value_or(std::numeric_limits<int64_t>::max());
  D places(int64_t{1});
  bool fits = area.ok() && (!known_rows.has_value() || *known_rows % area.value() == 0);
  for (int d = 0; d < 2; ++d) {
    const D count = WindowCount(size[d], D(p.kernel[d]), p.stride[d], p.padding[d], p.dilation[d]);
    const int64_t known = KnownInt(count).value_or(1);
    fits = fits && known >= 1 && known <= most && KnownInt(size[d]).value_or(1) >= 1;
    places = places * count;
  }
  if (!fits || KnownDifferent(places, input[rank - 1])) {
    return absl::InvalidArgumentError(
        absl::StrCat("col2im: patches ", FormatDims<D>(input), " do not belong to an image of ",
                     FormatDims<D>(size), " under kernel ", FormatSizes(p.kernel), ", stride ",
                     FormatSizes(p.stride), ", padding ", FormatSizes(p.padding), ", dilation ",
                     FormatSizes(p.dilation)));
  }
  Dims<D> out;
  if (rank == 3) out.push_back(input[0]);
  out.push_back(FloorDiv(rows, D(area.value())));
  out.push_back(size[0]);
  out.push_back(size[1]);
  return out;
}

// upsample_nearest2d, upsample_bilinear2d, _upsample_bicubic2d_aa and similar operators. The .vec
// overloads have either an output size or a list of two scales; the others have a size and optional
// scales for computing positions. Nearest has no align_corners.
template <class Arguments>
struct UpsampleCall {
  typename Arguments::TensorRef input;
  bool has_size = true;
  Dims<typename Arguments::Dim> output_size;  // if has_size
  std::optional<double> scales[2];            // height and width, output / input
  bool align_corners = false;

  static absl::StatusOr<UpsampleCall> Read(const Arguments& arguments) {
    UpsampleCall call;
    const bool is_vec = arguments.Has("scale_factors");
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor(is_vec ? "input" : "self", kImageTypes));
    if (arguments.Has("align_corners")) {
      ABSL_ASSIGN_OR_RETURN(call.align_corners, arguments.Bool("align_corners"));
    }
    if (is_vec) {
      call.has_size = !arguments.IsNone("output_size");
      if (call.has_size != arguments.IsNone("scale_factors")) {
        return absl::InvalidArgumentError(
            "upsample: expected one of output_size and scale_factors");
      }
    } else {
      ABSL_ASSIGN_OR_RETURN(call.scales[0], ReadScale(arguments, "scales_h"));
      ABSL_ASSIGN_OR_RETURN(call.scales[1], ReadScale(arguments, "scales_w"));
    }
    if (call.has_size) {
      ABSL_ASSIGN_OR_RETURN(call.output_size, arguments.IntList("output_size"));
      return call;
    }
    ABSL_ASSIGN_OR_RETURN(const int scales, arguments.ListSize("scale_factors"));
    if (scales != 2 || call.input->rank() != 4) {
      return absl::InvalidArgumentError(
          "upsample: expected an input of rank 4 and two scale factors");
    }
    for (int d = 0; d < 2; ++d) {
      ABSL_ASSIGN_OR_RETURN(call.scales[d], arguments.ListDouble("scale_factors", d));
      // A factor of 1 is dropped: kernels copy dimensions of scale 1, and PyTorch blends these.
      if (call.scales[d] == 1.0) call.scales[d] = std::nullopt;
    }
    return call;
  }
  // Returns nullopt for None and for a value that is not known yet: shapes do not depend on it.
  static absl::StatusOr<std::optional<double>> ReadScale(const Arguments& arguments,
                                                         std::string_view name) {
    std::optional<double> scale;
    if (arguments.IsNone(name)) return scale;
    ABSL_ASSIGN_OR_RETURN(const EValue number, arguments.Scalar(name));
    if (!number.is_none()) {
      ABSL_ASSIGN_OR_RETURN(scale, arguments.Double(name));
    }
    return scale;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(input);
    if (has_size) return UpsampleShape<D>(sizes, output_size);
    Dims<D> scaled;
    for (int d = 0; d < 2; ++d) {
      ABSL_ASSIGN_OR_RETURN(const D size, ScaledSize(sizes[d + 2], scales[d].value_or(1)));
      scaled.push_back(size);
    }
    return UpsampleShape<D>(sizes, scaled);
  }
};

// grid_sampler_2d, grid_sampler_3d.
template <class Arguments, int kSpatial>
struct GridSampleCall {
  typename Arguments::TensorRef input, grid;  // of one dtype
  int64_t interpolation = 0, padding = 0;
  bool align_corners = false;

  static absl::StatusOr<GridSampleCall> Read(const Arguments& arguments) {
    GridSampleCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.grid, arguments.Tensor("grid", DTypeSet{call.input->dtype}));
    // Bicubic mode is only supported for images.
    ABSL_ASSIGN_OR_RETURN(call.interpolation,
                          ReadMode(arguments, "interpolation_mode", kSpatial == 3 ? 1 : 2));
    ABSL_ASSIGN_OR_RETURN(call.padding, ReadMode(arguments, "padding_mode", 2));
    ABSL_ASSIGN_OR_RETURN(call.align_corners, arguments.Bool("align_corners"));
    return call;
  }
  static absl::StatusOr<int64_t> ReadMode(const Arguments& arguments, std::string_view name,
                                          int64_t last) {
    ABSL_ASSIGN_OR_RETURN(const int64_t mode, arguments.StaticInt(name));
    if (mode >= 0 && mode <= last) return mode;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected a mode from 0 to ", last, ", got ", mode));
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return GridSampleShape<typename Arguments::Dim>(Arguments::SizesOf(input),
                                                    Arguments::SizesOf(grid), kSpatial);
  }
};

// col2im.
template <class Arguments>
struct Col2ImCall {
  typename Arguments::TensorRef self;
  Dims<typename Arguments::Dim> output_size;
  PatchParams params;

  static absl::StatusOr<Col2ImCall> Read(const Arguments& arguments) {
    Col2ImCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kPatchTypes));
    ABSL_ASSIGN_OR_RETURN(call.output_size, arguments.IntList("output_size"));
    ABSL_ASSIGN_OR_RETURN(const Sizes kernel, arguments.StaticIntList("kernel_size"));
    ABSL_ASSIGN_OR_RETURN(const Sizes dilation, arguments.StaticIntList("dilation"));
    ABSL_ASSIGN_OR_RETURN(const Sizes padding, arguments.StaticIntList("padding"));
    ABSL_ASSIGN_OR_RETURN(const Sizes stride, arguments.StaticIntList("stride"));
    ABSL_ASSIGN_OR_RETURN(call.params, MakePatchParams(kernel, dilation, padding, stride));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return Col2ImShape<typename Arguments::Dim>(Arguments::SizesOf(self), output_size, params);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_RESAMPLE_H_
