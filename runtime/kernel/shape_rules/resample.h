// Shapes of resampling and of images put together from patches.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_RESAMPLE_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_RESAMPLE_H_

#include "runtime/kernel/shape_rules/convolution.h"

namespace belay {

// n * scale, rounded towards zero; no number when it is out of range.
inline CheckedInt ScaledSize(CheckedInt n, double scale) {
  const double size = static_cast<double>(n.value()) * scale;
  if (!n.ok() || !(size > -9e18 && size < 9e18)) return FloorDiv(CheckedInt(0), CheckedInt(0));
  return static_cast<int64_t>(size);
}

// input [n,c,h,w] -> [n,c,*size]. Sizes must be positive, and channels and pixels must exist.
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
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("kernel_size", p.kernel, 1));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("dilation", p.dilation, 1));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("padding", p.padding, 0));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("stride", p.stride, 1));
  return p;
}

// Patches [n,c*kh*kw,l] or without n -> [n,c,*size]; l must be the number of places of the window.
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
  D places(int64_t{1});
  bool fits = area.ok() && (!known_rows.has_value() || *known_rows % area.value() == 0);
  for (int d = 0; d < 2; ++d) {
    const D count = WindowCount(size[d], D(p.kernel[d]), p.stride[d], p.padding[d], p.dilation[d]);
    fits = fits && KnownInt(count).value_or(1) >= 1 && KnownInt(size[d]).value_or(1) >= 1;
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

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_RESAMPLE_H_
