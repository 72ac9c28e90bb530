// Convolutions of one, two and three dimensions, and their gradients.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/convolution.h"

namespace belay::exir {
namespace {

bool ChannelsLast(const TensorMeta& input, const TensorMeta& weight) {
  return LooksChannelsLast(input) || LooksChannelsLast(weight);
}

absl::Status ConvolutionMeta(MetaContext& context, const ConvolutionCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetOutput(0, DenseInFormat(call.input->dtype, std::move(shape),
                                     ChannelsLast(*call.input, *call.weight)));
  return absl::OkStatus();
}

absl::Status ConvolutionBackwardMeta(MetaContext& context,
                                     const ConvolutionBackwardCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> shape, call.Shape());
  const DType dtype = call.grad_output->dtype;
  const bool channels_last = ChannelsLast(*call.input, *call.weight);
  if (call.output_mask & 1) {
    context.SetOutput(0, DenseInFormat(dtype, call.input->sizes, channels_last));
  }
  if (call.output_mask & 2) {
    context.SetOutput(1, DenseInFormat(dtype, call.weight->sizes, channels_last));
  }
  if (call.output_mask & 4) context.SetTensor(2, dtype, {shape[1]});
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
               "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
               "SymInt groups) -> Tensor",
     .meta = &MetaKernel<&ConvolutionMeta>,
     .traits = kCore,
     .dtypes = "input:A weight:A bias:A ->:A A=int+float",
     .tolerance = {1e-5, 1e-6}},
    {.schema = "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, "
               "SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
               "transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> "
               "(Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&ConvolutionBackwardMeta>,
     .traits = kCore,
     .dtypes = "grad_output:A input:A weight:A ->0:A ->1:A ->2:A A=float",
     .tolerance = {1e-5, 1e-6}},
};

}  // namespace

absl::Span<const OpDef> ConvolutionOps() { return kRows; }

}  // namespace belay::exir
