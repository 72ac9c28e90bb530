// Shape rules of pooling over the last dimensions, with fixed or adaptive windows.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_POOL_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_POOL_H_

#include "runtime/kernel_interface/shape_rules/convolution.h"

namespace belay {

struct PoolParams {
  Sizes kernel, stride, padding, dilation;  // one per spatial dimension
  bool ceil_mode = false;
};

inline constexpr DTypeSet kAveragePoolTypes = kFloatTypes | DTypeSet{DType::kInt64};
inline constexpr DTypeSet kMaxPoolTypes = kIntegralTypes | kFloatTypes;

// An empty stride means the kernel size. Where PyTorch expects `spatial` values, a list of one
// applies to all; in one dimension, exactly one value is accepted.
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
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("kernel_size", p.kernel, 1));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("stride", p.stride, 1));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("padding", p.padding, 0));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("dilation", p.dilation, 1));
  for (int d = 0; d < spatial; ++d) {
    if (p.padding[d] > p.kernel[d] / 2) {
      return absl::InvalidArgumentError(absl::StrCat("padding: ", FormatSizes(p.padding),
                                                     " is more than half of the kernel ",
                                                     FormatSizes(p.kernel)));
    }
  }
  return p;
}

// Number of windows. With ceil_mode, the last window may extend past the padding, but must start
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

// Expects an optional batch dimension, a channel dimension and `spatial` dimensions. Only the batch
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
                   " without empty dimensions except the batch, got shape ", FormatDims<D>(input)));
}

// avg_pool3d requires an input at least as large as the kernel, regardless of padding.
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

// Returns the leading dimensions of `input`, followed by the output size.
template <class D>
absl::StatusOr<Dims<D>> AdaptivePoolShape(absl::Span<const D> input, absl::Span<const D> size,
                                          int spatial) {
  if (static_cast<int>(size.size()) != spatial) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_size: expected ", spatial, " numbers, got ", FormatDims<D>(size)));
  }
  const int rank = static_cast<int>(input.size());
  bool fits = rank == spatial + 1 || rank == spatial + 2;
  // In three dimensions, the channel dimension of a batch must not be empty either.
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

// Checks the gradient of adaptive pooling: the leading dimensions of `input`, then `spatial`
// dimensions of any size except 0.
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

// Reads kernel_size, stride, padding, ceil_mode, and dilation if the operator has it.
template <class Arguments>
absl::StatusOr<PoolParams> ReadPoolParams(const Arguments& arguments, int spatial) {
  ABSL_ASSIGN_OR_RETURN(const Sizes kernel, arguments.StaticIntList("kernel_size"));
  ABSL_ASSIGN_OR_RETURN(const Sizes stride, arguments.StaticIntList("stride"));
  ABSL_ASSIGN_OR_RETURN(const Sizes padding, arguments.StaticIntList("padding"));
  Sizes dilation = {1};
  if (arguments.Has("dilation")) {
    ABSL_ASSIGN_OR_RETURN(dilation, arguments.StaticIntList("dilation"));
  }
  ABSL_ASSIGN_OR_RETURN(const bool ceil_mode, arguments.Bool("ceil_mode"));
  return MakePoolParams(kernel, stride, padding, dilation, ceil_mode, spatial);
}

// Divisor of a window's sum.
struct PoolDivisor {
  int64_t override_by = 0;  // 0: the number of elements
  bool count_include_pad = true;
};
template <class Arguments>
absl::StatusOr<PoolDivisor> ReadPoolDivisor(const Arguments& arguments) {
  PoolDivisor divisor;
  ABSL_ASSIGN_OR_RETURN(divisor.count_include_pad, arguments.Bool("count_include_pad"));
  if (!arguments.Has("divisor_override") || arguments.IsNone("divisor_override")) return divisor;
  ABSL_ASSIGN_OR_RETURN(divisor.override_by, arguments.StaticInt("divisor_override"));
  if (divisor.override_by != 0) return divisor;
  return absl::InvalidArgumentError("divisor_override: expected a number other than 0");
}

// avg_pool1d, avg_pool2d, avg_pool3d.
template <class Arguments, int kSpatial>
struct AvgPoolCall {
  typename Arguments::TensorRef self;
  PoolParams params;
  PoolDivisor divisor;

  static absl::StatusOr<AvgPoolCall> Read(const Arguments& arguments) {
    AvgPoolCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kAveragePoolTypes));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadPoolParams(arguments, kSpatial));
    ABSL_ASSIGN_OR_RETURN(call.divisor, ReadPoolDivisor(arguments));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(self);
    if (kSpatial == 3) ABSL_RETURN_IF_ERROR(CheckHoldsKernel<D>(sizes, params));
    return PoolShape<D>(sizes, params);
  }
};

// max_pool2d_with_indices, max_pool3d_with_indices.
template <class Arguments, int kSpatial>
struct MaxPoolCall {
  typename Arguments::TensorRef self;
  PoolParams params;

  static absl::StatusOr<MaxPoolCall> Read(const Arguments& arguments) {
    MaxPoolCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kMaxPoolTypes));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadPoolParams(arguments, kSpatial));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return PoolShape<typename Arguments::Dim>(Arguments::SizesOf(self), params);
  }
};

// adaptive_avg_pool1d, _adaptive_avg_pool2d, adaptive_max_pool2d and similar operators.
template <class Arguments, int kSpatial>
struct AdaptivePoolCall {
  typename Arguments::TensorRef self;
  Dims<typename Arguments::Dim> output_size;

  static absl::StatusOr<AdaptivePoolCall> Read(const Arguments& arguments) {
    AdaptivePoolCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.output_size, arguments.IntList("output_size"));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    return AdaptivePoolShape<typename Arguments::Dim>(Arguments::SizesOf(self), output_size,
                                                      kSpatial);
  }
};

// avg_pool2d_backward.
template <class Arguments>
struct AvgPoolBackwardCall {
  typename Arguments::TensorRef grad_output, self;
  PoolParams params;
  PoolDivisor divisor;

  static absl::StatusOr<AvgPoolBackwardCall> Read(const Arguments& arguments) {
    AvgPoolBackwardCall call;
    ABSL_ASSIGN_OR_RETURN(call.grad_output, arguments.Tensor("grad_output", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", DTypeSet{call.grad_output->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadPoolParams(arguments, 2));
    ABSL_ASSIGN_OR_RETURN(call.divisor, ReadPoolDivisor(arguments));
    return call;
  }
  // kInvalidArgument unless the gradient has the pooled tensor's shape.
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    ABSL_ASSIGN_OR_RETURN(const Dims<D> shape, PoolShape<D>(Arguments::SizesOf(self), params));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("grad_output", Arguments::SizesOf(grad_output), shape));
    return absl::OkStatus();
  }
};

// max_pool2d_with_indices_backward.
template <class Arguments>
struct MaxPoolBackwardCall {
  typename Arguments::TensorRef grad_output, self, indices;
  PoolParams params;

  static absl::StatusOr<MaxPoolBackwardCall> Read(const Arguments& arguments) {
    MaxPoolBackwardCall call;
    ABSL_ASSIGN_OR_RETURN(call.grad_output, arguments.Tensor("grad_output", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", DTypeSet{call.grad_output->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadPoolParams(arguments, 2));
    ABSL_ASSIGN_OR_RETURN(call.indices, arguments.Tensor("indices", DTypeSet{DType::kInt64}));
    return call;
  }
  // kInvalidArgument unless the gradient and the indices have the pooled tensor's shape.
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    ABSL_ASSIGN_OR_RETURN(const Dims<D> shape, PoolShape<D>(Arguments::SizesOf(self), params));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("grad_output", Arguments::SizesOf(grad_output), shape));
    return CheckSameShape<D>("indices", Arguments::SizesOf(indices), shape);
  }
};

// _adaptive_avg_pool2d_backward.
template <class Arguments>
struct AdaptivePoolBackwardCall {
  typename Arguments::TensorRef grad_output, self;

  static absl::StatusOr<AdaptivePoolBackwardCall> Read(const Arguments& arguments) {
    AdaptivePoolBackwardCall call;
    ABSL_ASSIGN_OR_RETURN(call.grad_output, arguments.Tensor("grad_output", kFloatTypes));
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", DTypeSet{call.grad_output->dtype}));
    return call;
  }
  absl::Status CheckShapes() const {
    return AdaptiveGradientShape<typename Arguments::Dim>(Arguments::SizesOf(grad_output),
                                                          Arguments::SizesOf(self), 2);
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_POOL_H_
