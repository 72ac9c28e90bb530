// Convolutions of one, two and three dimensions, and their gradients.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/convolution.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kConvolutionTypes = kIntegralTypes | kFloatTypes;

// The arguments stride, padding, dilation, transposed, output_padding, groups from `first` on.
absl::StatusOr<ConvolutionParams> ParamsOf(const MetaContext& context, int first, int rank) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> stride, context.StaticIntList(first));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> padding, context.StaticIntList(first + 1));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> dilation, context.StaticIntList(first + 2));
  ABSL_ASSIGN_OR_RETURN(const bool transposed, context.Bool(first + 3));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> output_padding,
                        context.StaticIntList(first + 4));
  ABSL_ASSIGN_OR_RETURN(const int64_t groups, context.StaticInt(first + 5));
  return MakeConvolutionParams(stride, padding, dilation, transposed, output_padding, groups,
                               rank - 2);
}

bool ChannelsLast(const TensorMeta& input, const TensorMeta& weight) {
  return LooksChannelsLast(input) || LooksChannelsLast(weight);
}

absl::Status ConvolutionMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kConvolutionTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weight, TensorOf(context, 1, input->dtype));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* bias,
                        OptionalTensorOf(context, 2, DTypeSet{input->dtype}));
  ABSL_ASSIGN_OR_RETURN(const ConvolutionParams params, ParamsOf(context, 3, input->rank()));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape,
                        ConvolutionShape<SymInt>(input->sizes, weight->sizes,
                                                 bias == nullptr ? nullptr : &bias->sizes, params));
  context.SetOutput(0,
                    DenseInFormat(input->dtype, std::move(shape), ChannelsLast(*input, *weight)));
  return absl::OkStatus();
}

absl::Status ConvolutionBackwardMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grad, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 1, grad->dtype));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weight, TensorOf(context, 2, grad->dtype));
  ABSL_ASSIGN_OR_RETURN(const ConvolutionParams params, ParamsOf(context, 4, input->rank()));
  ABSL_RETURN_IF_ERROR(CheckOutputPadding(params));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape,
                        ConvolutionShape<SymInt>(input->sizes, weight->sizes, nullptr, params));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("grad_output", grad->sizes, shape));
  ABSL_ASSIGN_OR_RETURN(const uint32_t mask, BoolMask(context, 10, 3));
  const bool channels_last = ChannelsLast(*input, *weight);
  if (mask & 1) {
    context.SetOutput(0, DenseInFormat(grad->dtype, input->sizes, channels_last));
  }
  if (mask & 2) {
    context.SetOutput(1, DenseInFormat(grad->dtype, weight->sizes, channels_last));
  }
  if (mask & 4) context.SetTensor(2, grad->dtype, {shape[1]});
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
               "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
               "SymInt groups) -> Tensor",
     .meta = &ConvolutionMeta,
     .traits = kCore,
     .dtypes = "input:A weight:A bias:A ->:A A=int+float",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, "
               "SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
               "transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
               "(Tensor, Tensor, Tensor)",
     .meta = &ConvolutionBackwardMeta,
     .traits = kCore,
     .dtypes = "grad_output:A input:A weight:A ->0:A ->1:A ->2:A A=float",
     .tolerance = {1e-5, 1e-6}},
};

}  // namespace

absl::Span<const OpDef> ConvolutionOps() { return kRows; }

}  // namespace belay::exir
