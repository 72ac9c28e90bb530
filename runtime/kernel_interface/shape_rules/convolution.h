// Shape rules and call structs of convolutions.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_CONVOLUTION_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_CONVOLUTION_H_

#include <cstdint>
#include <limits>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/shape_rules/same_shape.h"

namespace belay {

// Returns one value per spatial dimension; a list of one applies to all.
inline absl::StatusOr<Sizes> PerDimension(std::string_view name, absl::Span<const int64_t> list,
                                          int count) {
  if (list.size() == 1) return Sizes(count, list[0]);
  if (static_cast<int>(list.size()) == count) return Sizes(list);
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected 1 or ", count, " numbers, got ", FormatSizes(list)));
}

// Requires exactly one value per spatial dimension.
inline absl::StatusOr<Sizes> ExactlyPerDimension(std::string_view name,
                                                 absl::Span<const int64_t> list, int count) {
  if (static_cast<int>(list.size()) == count) return Sizes(list);
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected ", count, " numbers, got ", FormatSizes(list)));
}

inline absl::Status ExpectAtLeast(std::string_view name, absl::Span<const int64_t> list,
                                  int64_t least) {
  for (int64_t value : list) {
    if (value < least) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": expected numbers of at least ", least,
                                                     ", got ", FormatSizes(list)));
    }
  }
  return absl::OkStatus();
}

// Checks window parameters (strides, paddings, …): at least `least`, and 32 bits, so that kernels
// can compute the positions in a window without overflow.
inline absl::Status ExpectWindowNumbers(std::string_view name, absl::Span<const int64_t> list,
                                        int64_t least) {
  ABSL_RETURN_IF_ERROR(ExpectAtLeast(name, list, least));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (int64_t value : list) {
    if (value > kMost) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": expected numbers of at most ", kMost, ", got ", FormatSizes(list)));
    }
  }
  return absl::OkStatus();
}

struct ConvolutionParams {
  Sizes stride, padding, dilation, output_padding;  // one per spatial dimension
  bool transposed = false;
  int64_t groups = 1;
};

// `spatial` is the number of spatial dimensions.
inline absl::StatusOr<ConvolutionParams> MakeConvolutionParams(
    absl::Span<const int64_t> stride, absl::Span<const int64_t> padding,
    absl::Span<const int64_t> dilation, bool transposed, absl::Span<const int64_t> output_padding,
    int64_t groups, int spatial) {
  if (spatial < 1 || spatial > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("convolution: expected an input of rank 3, 4 or 5, got rank ", spatial + 2));
  }
  if (groups < 1) {
    return absl::InvalidArgumentError(absl::StrCat("groups: expected at least 1, got ", groups));
  }
  ConvolutionParams p;
  p.transposed = transposed;
  p.groups = groups;
  ABSL_ASSIGN_OR_RETURN(p.stride, PerDimension("stride", stride, spatial));
  ABSL_ASSIGN_OR_RETURN(p.padding, PerDimension("padding", padding, spatial));
  ABSL_ASSIGN_OR_RETURN(p.dilation, PerDimension("dilation", dilation, spatial));
  ABSL_ASSIGN_OR_RETURN(p.output_padding, PerDimension("output_padding", output_padding, spatial));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("stride", p.stride, 1));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("padding", p.padding, 0));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("dilation", p.dilation, 1));
  ABSL_RETURN_IF_ERROR(ExpectWindowNumbers("output_padding", p.output_padding, 0));
  for (int d = 0; transposed && d < spatial; ++d) {
    if (p.output_padding[d] >= std::max(p.stride[d], p.dilation[d])) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_padding: ", FormatSizes(p.output_padding),
                       " is not below stride or dilation at spatial dimension ", d));
    }
  }
  return p;
}

// Gradients, unlike the forward convolution, require zero output padding unless transposed.
inline absl::Status CheckOutputPadding(const ConvolutionParams& p) {
  for (int64_t padding : p.output_padding) {
    if (!p.transposed && padding != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_padding: ", FormatSizes(p.output_padding),
                       " for a convolution that is not transposed"));
    }
  }
  return absl::OkStatus();
}

// Number of window positions: (n + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1.
template <class D>
D WindowCount(const D& n, const D& kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const D reach = D(dilation) * (kernel - D(int64_t{1})) + D(int64_t{1});
  return FloorDiv(n + D(int64_t{2}) * D(padding) - reach, D(stride)) + D(int64_t{1});
}

// input [n,c,…], weight [o,c/groups,…] or, if transposed, [c,o/groups,…] -> [n,o,…]. `bias` is null
// or [o].
template <class D>
absl::StatusOr<Dims<D>> ConvolutionShape(absl::Span<const D> input, absl::Span<const D> weight,
                                         const Dims<D>* bias, const ConvolutionParams& p) {
  if (input.size() != weight.size() || input.size() != static_cast<size_t>(p.stride.size()) + 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("convolution: expected input and weight of rank ", p.stride.size() + 2,
                     ", got shapes ", FormatDims<D>(input), " and ", FormatDims<D>(weight)));
  }
  const D groups(p.groups);
  const std::optional<int64_t> rows = KnownInt(weight[0]);
  if (rows.has_value() && (*rows < p.groups || *rows % p.groups != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("weight: shape ", FormatDims<D>(weight),
                                                   " does not divide into ", p.groups,
                                                   " groups at dimension 0"));
  }
  const D channels = p.transposed ? weight[0] : weight[1] * groups;
  if (KnownDifferent(input[1], channels)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input: expected ", DimToString(channels), " channels for weight ", FormatDims<D>(weight),
        " and ", p.groups, " groups, got shape ", FormatDims<D>(input)));
  }
  // Only the batch and channel dimensions may be empty.
  const auto is_zero = [](const D& size) { return KnownInt(size) == 0; };
  if (p.transposed && is_zero(weight[1])) {
    return absl::InvalidArgumentError(
        absl::StrCat("weight: shape ", FormatDims<D>(weight), " gives no channels"));
  }
  for (size_t d = 2; d < input.size(); ++d) {
    if (!is_zero(input[d]) || is_zero(input[0]) || is_zero(input[1])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("input: shape ", FormatDims<D>(input), " has no elements at dimension ", d));
  }
  Dims<D> out;
  out.push_back(input[0]);
  out.push_back(p.transposed ? weight[1] * groups : weight[0]);
  if (bias != nullptr && (bias->size() != 1 || KnownDifferent((*bias)[0], out[1]))) {
    return absl::InvalidArgumentError(absl::StrCat("bias: expected shape [", DimToString(out[1]),
                                                   "], got ", FormatDims<D>(*bias)));
  }
  for (size_t d = 2; d < input.size(); ++d) {
    const int s = static_cast<int>(d) - 2;
    const std::optional<int64_t> kernel = KnownInt(weight[d]);
    if (kernel.has_value() && *kernel < 1) {
      return absl::InvalidArgumentError(absl::StrCat("weight: shape ", FormatDims<D>(weight),
                                                     " has no elements at dimension ", d));
    }
    const D one(int64_t{1});
    const D size = p.transposed
                       ? (input[d] - one) * D(p.stride[s]) - D(int64_t{2}) * D(p.padding[s]) +
                             D(p.dilation[s]) * (weight[d] - one) + D(p.output_padding[s]) + one
                       : WindowCount(input[d], weight[d], p.stride[s], p.padding[s], p.dilation[s]);
    const std::optional<int64_t> known = KnownInt(size);
    // A transposed convolution may crop its whole output by padding.
    if (known.has_value() && *known < (p.transposed ? 0 : 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("convolution: input ", FormatDims<D>(input), " is too small for weight ",
                       FormatDims<D>(weight), ": size ", *known, " at dimension ", d));
    }
    out.push_back(size);
  }
  return out;
}

inline constexpr DTypeSet kConvolutionTypes = kIntegralTypes | kFloatTypes;

// Reads stride, padding, dilation, transposed, output_padding and groups, for an input of this
// rank.
template <class Arguments>
absl::StatusOr<ConvolutionParams> ReadConvolutionParams(const Arguments& arguments, int rank) {
  ABSL_ASSIGN_OR_RETURN(const Sizes stride, arguments.StaticIntList("stride"));
  ABSL_ASSIGN_OR_RETURN(const Sizes padding, arguments.StaticIntList("padding"));
  ABSL_ASSIGN_OR_RETURN(const Sizes dilation, arguments.StaticIntList("dilation"));
  ABSL_ASSIGN_OR_RETURN(const bool transposed, arguments.Bool("transposed"));
  ABSL_ASSIGN_OR_RETURN(const Sizes output_padding, arguments.StaticIntList("output_padding"));
  ABSL_ASSIGN_OR_RETURN(const int64_t groups, arguments.StaticInt("groups"));
  return MakeConvolutionParams(stride, padding, dilation, transposed, output_padding, groups,
                               rank - 2);
}

// convolution: one to three spatial dimensions, all operands of one dtype.
template <class Arguments>
struct ConvolutionCall {
  typename Arguments::TensorRef input, weight, bias;  // bias: null for none
  ConvolutionParams params;

  static absl::StatusOr<ConvolutionCall> Read(const Arguments& arguments) {
    ConvolutionCall call;
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", kConvolutionTypes));
    const DTypeSet same = {call.input->dtype};
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", same));
    ABSL_ASSIGN_OR_RETURN(call.bias, arguments.OptionalTensor("bias", same));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadConvolutionParams(arguments, call.input->rank()));
    return call;
  }
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    Dims<D> bias_sizes;
    if (bias != nullptr) bias_sizes = Arguments::SizesOf(bias);
    return ConvolutionShape<D>(Arguments::SizesOf(input), Arguments::SizesOf(weight),
                               bias == nullptr ? nullptr : &bias_sizes, params);
  }
};

// convolution_backward: gradients of input, weight and bias, as selected by the bits of
// `output_mask`.
template <class Arguments>
struct ConvolutionBackwardCall {
  typename Arguments::TensorRef grad_output, input, weight;
  ConvolutionParams params;
  uint32_t output_mask = 0;

  static absl::StatusOr<ConvolutionBackwardCall> Read(const Arguments& arguments) {
    ConvolutionBackwardCall call;
    ABSL_ASSIGN_OR_RETURN(call.grad_output, arguments.Tensor("grad_output", kFloatTypes));
    const DTypeSet same = {call.grad_output->dtype};
    ABSL_ASSIGN_OR_RETURN(call.input, arguments.Tensor("input", same));
    ABSL_ASSIGN_OR_RETURN(call.weight, arguments.Tensor("weight", same));
    ABSL_ASSIGN_OR_RETURN(call.params, ReadConvolutionParams(arguments, call.input->rank()));
    ABSL_RETURN_IF_ERROR(CheckOutputPadding(call.params));
    ABSL_ASSIGN_OR_RETURN(call.output_mask, arguments.BoolMask("output_mask", 3));
    return call;
  }
  // Returns the shape of the convolution's result, which the gradient must have.
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    ABSL_ASSIGN_OR_RETURN(Dims<D> shape,
                          ConvolutionShape<D>(Arguments::SizesOf(input), Arguments::SizesOf(weight),
                                              nullptr, params));
    ABSL_RETURN_IF_ERROR(CheckSameShape<D>("grad_output", Arguments::SizesOf(grad_output), shape));
    return shape;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_CONVOLUTION_H_
