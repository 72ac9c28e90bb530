// Batch, layer and group normalization, and the gradients of the latter two.

#include <string_view>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/norm.h"

namespace belay::exir {
namespace {

constexpr Tolerance kNorm = {1e-5, 1e-6};

absl::Status BatchNormMeta(MetaContext& context, const BatchNormCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorMeta& input = *call.input;
  context.SetOutput(0, DenseInFormat(input.dtype, input.sizes, LooksChannelsLast(input)));
  const SymInt count = call.training ? input.sizes[1] : SymInt(0);
  context.SetTensor(1, call.parameter_dtype, {count});
  context.SetTensor(2, call.parameter_dtype, {count});
  return absl::OkStatus();
}

absl::Status LayerNormMeta(MetaContext& context, const LayerNormCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> stats, call.StatsShape());
  context.SetTensor(0, call.input->dtype, call.input->sizes);
  context.SetTensor(1, call.parameter_dtype, stats);
  context.SetTensor(2, call.parameter_dtype, stats);
  return absl::OkStatus();
}

absl::Status GroupNormMeta(MetaContext& context, const GroupNormCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> stats, call.StatsShape());
  const TensorMeta& input = *call.input;
  context.SetOutput(0, DenseInFormat(input.dtype, input.sizes, LooksChannelsLast(input)));
  context.SetTensor(1, call.parameter_dtype, stats);
  context.SetTensor(2, call.parameter_dtype, stats);
  return absl::OkStatus();
}

absl::Status LayerNormBackwardMeta(MetaContext& context,
                                   const LayerNormBackwardCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  if (call.output_mask & 1) context.SetTensor(0, call.input->dtype, call.input->sizes);
  if (call.output_mask & 2) context.SetTensor(1, call.parameter_dtype, call.normalized_shape);
  if (call.output_mask & 4) context.SetTensor(2, call.parameter_dtype, call.normalized_shape);
  return absl::OkStatus();
}

absl::Status GroupNormBackwardMeta(MetaContext& context,
                                   const GroupNormBackwardCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const TensorMeta& input = *call.input;
  if (call.output_mask & 1) {
    context.SetOutput(0, DenseInFormat(input.dtype, input.sizes, LooksChannelsLast(input)));
  }
  if (call.output_mask & 2) context.SetTensor(1, call.parameter_dtype, {call.channels});
  if (call.output_mask & 4) context.SetTensor(2, call.parameter_dtype, {call.channels});
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? "
               "bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
               "(Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&BatchNormMeta>,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B running_mean:B running_var:B ->0:A ->1:B ->2:B A=float "
               "B=float",
     .tolerance = kNorm},
    {.schema = "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, "
               "Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, "
               "float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&BatchNormMeta>,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B running_mean:B running_var:B ->0:A ->1:B ->2:B A=float "
               "B=float",
     .tolerance = kNorm},
    {.schema =
         "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, "
         "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&BatchNormMeta>,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
               "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&LayerNormMeta>,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema = "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, "
               "SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&GroupNormMeta>,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema = "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] "
               "normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] "
               "output_mask) -> (Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&LayerNormBackwardMeta>,
     .traits = kCore,
     .dtypes = "grad_out:A input:A mean:B rstd:B weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema =
         "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor "
         "rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] "
         "output_mask) -> (Tensor, Tensor, Tensor)",
     .meta = &MetaKernel<&GroupNormBackwardMeta>,
     .traits = kCore,
     .dtypes = "grad_out:A input:A mean:B rstd:B weight:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
};

}  // namespace

absl::Span<const OpDef> NormOps() { return kRows; }

}  // namespace belay::exir
