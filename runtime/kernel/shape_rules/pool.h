// Shapes of pooling: windows of given or adaptive extent over the last dimensions.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_POOL_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_POOL_H_

#include <limits>

#include "runtime/kernel/shape_rules/convolution.h"

namespace belay {

struct PoolParams {
  Sizes kernel, stride, padding, dilation;  // one per spatial dimension
  bool ceil_mode = false;
};

// An empty stride means the kernel's. Where PyTorch wants exactly `spatial` numbers a list of one
// counts for all, except that for one dimension nothing else is taken.
inline absl::StatusOr<PoolParams> MakePoolParams(absl::Span<const int64_t> kernel,
                                                 absl::Span<const int64_t> stride,
                                                 absl::Span<const int64_t> padding,
                                                 absl::Span<const int64_t> dilation, bool ceil_mode,
                                                 int spatial) {
  PoolParams p;
  p.ceil_mode = ceil_mode;
  ABSL_ASSIGN_OR_RETURN(p.kernel, PerDimension("kernel_size", kernel, spatial));
  if (stride.empty()) {
    p.stride = p.kernel;
  } else {
    ABSL_ASSIGN_OR_RETURN(p.stride, PerDimension("stride", stride, spatial));
  }
  ABSL_ASSIGN_OR_RETURN(p.padding, PerDimension("padding", padding, spatial));
  ABSL_ASSIGN_OR_RETURN(p.dilation, PerDimension("dilation", dilation, spatial));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("kernel_size", p.kernel, 1));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("stride", p.stride, 1));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("padding", p.padding, 0));
  ABSL_RETURN_IF_ERROR(ExpectAtLeast("dilation", p.dilation, 1));
  for (const Sizes* list : {&p.kernel, &p.stride, &p.padding, &p.dilation}) {
    for (int64_t value : *list) {
      if (value > std::numeric_limits<int32_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "pooling: ", value, " is too large a kernel, stride, padding or dilation"));
      }
    }
  }
  for (int d = 0; d < spatial; ++d) {
    if (p.padding[d] > p.kernel[d] / 2) {
      return absl::InvalidArgumentError(absl::StrCat("padding: ", FormatSizes(p.padding),
                                                     " is more than half of the kernel ",
                                                     FormatSizes(p.kernel)));
    }
  }
  return p;
}

// How many windows there are. With ceil_mode the last one may reach beyond the padding, but begins
// before it.
template <class D>
D PooledSize(const D& n, const PoolParams& p, int d) {
  const D one(int64_t{1}), kernel(p.kernel[d]), stride(p.stride[d]), padding(p.padding[d]);
  if (!p.ceil_mode) {
    return WindowCount(n, kernel, p.stride[d], p.padding[d], p.dilation[d]);
  }
  const D reach = D(p.dilation[d]) * (kernel - one) + one;
  const D reached = FloorDiv(n + padding + padding - reach + stride - one, stride) + one;
  const D begun = FloorDiv(n + padding - one, stride) + one;
  return SymMin(reached, begun);
}

// `spatial` last dimensions behind a channel dimension and perhaps a batch dimension, which alone
// may be empty.
template <class D>
absl::Status CheckPoolInput(absl::Span<const D> input, int spatial) {
  bool fits = static_cast<int>(input.size()) == spatial + 1 ||
              static_cast<int>(input.size()) == spatial + 2;
  for (size_t d = input.size() == static_cast<size_t>(spatial) + 2 ? 1 : 0;
       fits && d < input.size(); ++d) {
    fits = KnownInt(input[d]) != 0;
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input: expected rank ", spatial + 1, " or ", spatial + 2,
                   " without empty dimensions but the batch, got shape ", FormatDims<D>(input)));
}

// avg_pool3d wants an input that is no smaller than the kernel, whatever the padding.
template <class D>
absl::Status CheckHoldsKernel(absl::Span<const D> input, const PoolParams& p) {
  const int spatial = p.kernel.size(), leading = static_cast<int>(input.size()) - spatial;
  for (int d = 0; d < spatial && leading >= 0; ++d) {
    if (KnownInt(input[leading + d]).value_or(p.kernel[d]) < p.kernel[d]) {
      return absl::InvalidArgumentError(absl::StrCat("input: shape ", FormatDims<D>(input),
                                                     " is smaller than the kernel ",
                                                     FormatSizes(p.kernel)));
    }
  }
  return absl::OkStatus();
}

template <class D>
absl::StatusOr<Dims<D>> PoolShape(absl::Span<const D> input, const PoolParams& p) {
  const int spatial = p.kernel.size(), leading = static_cast<int>(input.size()) - spatial;
  ABSL_RETURN_IF_ERROR(CheckPoolInput<D>(input, spatial));
  Dims<D> out;
  for (int d = 0; d < leading; ++d) out.push_back(input[d]);
  for (int d = 0; d < spatial; ++d) {
    const D size = PooledSize(input[leading + d], p, d);
    const std::optional<int64_t> known = KnownInt(size);
    if (known.has_value() && *known < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input: shape ", FormatDims<D>(input), " is too small for the kernel ",
                       FormatSizes(p.kernel), ": size ", *known, " at spatial dimension ", d));
    }
    out.push_back(size);
  }
  return out;
}

// The leading dimensions of `input` followed by the output size.
template <class D>
absl::StatusOr<Dims<D>> AdaptivePoolShape(absl::Span<const D> input, absl::Span<const D> size,
                                          int spatial) {
  if (static_cast<int>(size.size()) != spatial) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_size: expected ", spatial, " numbers, got ", FormatDims<D>(size)));
  }
  const int rank = static_cast<int>(input.size());
  bool fits = rank == spatial + 1 || rank == spatial + 2;
  // In three dimensions the channels of a batch count too.
  const int first = !fits ? rank : spatial == 3 ? 1 : rank - spatial;
  for (int d = first; d < rank; ++d) fits = fits && KnownInt(input[d]) != 0;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input: expected rank ", spatial + 1, " or ", spatial + 2, " with elements in the last ",
        spatial, " dimensions, got shape ", FormatDims<D>(input)));
  }
  Dims<D> out;
  for (int d = 0; d < rank - spatial; ++d) out.push_back(input[d]);
  for (const D& d : size) {
    const std::optional<int64_t> known = KnownInt(d);
    if (known.has_value() && *known < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_size: expected numbers of at least 0, got ", FormatDims<D>(size)));
    }
    out.push_back(d);
  }
  return out;
}

// The gradient of an adaptively pooled tensor: the pooled one's leading dimensions, and as many
// more of any size but 0.
template <class D>
absl::Status AdaptiveGradientShape(absl::Span<const D> gradient, absl::Span<const D> input,
                                   int spatial) {
  const int rank = static_cast<int>(input.size());
  bool fits = (rank == spatial + 1 || rank == spatial + 2) && gradient.size() == input.size();
  for (int d = 0; fits && d < rank; ++d) {
    fits = d < rank - spatial ? !KnownDifferent(gradient[d], input[d]) : KnownInt(gradient[d]) != 0;
    if (d == rank - spatial - 1) fits = fits && KnownInt(gradient[d]) != 0;
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("grad_output: shape ", FormatDims<D>(gradient),
                                                 " is not that of a pooled ",
                                                 FormatDims<D>(input)));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_POOL_H_
