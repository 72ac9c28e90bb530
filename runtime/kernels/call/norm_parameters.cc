#include "runtime/kernels/call/norm_parameters.h"

#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/norm.h"
#include "runtime/kernels/call/operands.h"

namespace belay {

absl::StatusOr<DType> ParameterDtype(const KernelContext& context, DType input,
                                     std::initializer_list<int> parameters) {
  std::optional<DType> dtype;
  for (int i : parameters) {
    ABSL_ASSIGN_OR_RETURN(const TensorView* parameter,
                          OptionalTensorOf(context, i, "parameter", kFloatTypes));
    if (parameter == nullptr) continue;
    const bool mixed = parameter->dtype == DType::kFloat32 && DTypeSize(input) == 2;
    if ((parameter->dtype != input && !mixed) ||
        (dtype.has_value() && *dtype != parameter->dtype)) {
      return absl::InvalidArgumentError(absl::StrCat("argument ", i, ": expected ",
                                                     DTypeName(dtype.value_or(input)), ", got ",
                                                     DTypeName(parameter->dtype)));
    }
    dtype = parameter->dtype;
  }
  return dtype.value_or(input);
}

absl::StatusOr<const TensorView*> ChannelVector(const KernelContext& context, int i,
                                                std::string_view name, int64_t channels) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, OptionalTensorOf(context, i, name, kFloatTypes));
  if (t != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckChannelVector<CheckedInt>(name, ToDims(t->sizes), channels));
  }
  return t;
}

absl::StatusOr<const TensorView*> LayerParameter(const KernelContext& context, int i,
                                                 std::string_view name, const Sizes& normalized) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, OptionalTensorOf(context, i, name, kFloatTypes));
  if (t != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckSameShape<CheckedInt>(name, ToDims(t->sizes), ToDims(normalized)));
  }
  return t;
}

absl::StatusOr<LayerNormCall> ReadLayerNorm(KernelContext& context, DTypeSet types) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 3));
  LayerNormCall call;
  ABSL_ASSIGN_OR_RETURN(call.input, TensorOf(context, 0, "input", types));
  ABSL_ASSIGN_OR_RETURN(call.normalized, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(
      const Dims<CheckedInt> stats,
      LayerNormStatsShape<CheckedInt>(ToDims(call.input->sizes), ToDims(call.normalized)));
  ABSL_ASSIGN_OR_RETURN(call.weight, LayerParameter(context, 2, "weight", call.normalized));
  ABSL_ASSIGN_OR_RETURN(call.bias, LayerParameter(context, 3, "bias", call.normalized));
  ABSL_ASSIGN_OR_RETURN(call.eps, context.Double(4));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, ParameterDtype(context, call.input->dtype, {2, 3}));
  ABSL_ASSIGN_OR_RETURN(call.out, OutputOf(context, 0, call.input->dtype, *call.input));
  ABSL_ASSIGN_OR_RETURN(call.mean, OutputOf(context, 1, dtype, stats));
  ABSL_ASSIGN_OR_RETURN(call.rstd, OutputOf(context, 2, dtype, stats));
  return call;
}

absl::StatusOr<GroupNormCall> ReadGroupNorm(KernelContext& context, DTypeSet types) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(8, 3));
  GroupNormCall call;
  ABSL_ASSIGN_OR_RETURN(call.input, TensorOf(context, 0, "input", types));
  ABSL_ASSIGN_OR_RETURN(call.n, context.Int(3));
  ABSL_ASSIGN_OR_RETURN(call.channels, context.Int(4));
  ABSL_ASSIGN_OR_RETURN(const int64_t hxw, context.Int(5));
  ABSL_ASSIGN_OR_RETURN(call.groups, context.Int(6));
  ABSL_ASSIGN_OR_RETURN(call.eps, context.Double(7));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> stats,
                        GroupNormStatsShape<CheckedInt>(ToDims(call.input->sizes), call.n,
                                                        call.channels, hxw, call.groups));
  ABSL_ASSIGN_OR_RETURN(call.weight, ChannelVector(context, 1, "weight", call.channels));
  ABSL_ASSIGN_OR_RETURN(call.bias, ChannelVector(context, 2, "bias", call.channels));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, ParameterDtype(context, call.input->dtype, {1, 2}));
  ABSL_ASSIGN_OR_RETURN(call.out, OutputOf(context, 0, call.input->dtype, *call.input));
  ABSL_ASSIGN_OR_RETURN(call.mean, OutputOf(context, 1, dtype, stats));
  ABSL_ASSIGN_OR_RETURN(call.rstd, OutputOf(context, 2, dtype, stats));
  return call;
}

absl::StatusOr<BatchNormCall> ReadBatchNorm(KernelContext& context, BatchNormMode mode,
                                            DTypeSet types) {
  const bool running = mode != BatchNormMode::kNoStats;
  const int arguments = mode == BatchNormMode::kInference ? 7 : running ? 8 : 6;
  ABSL_RETURN_IF_ERROR(context.CheckArity(arguments, 3));
  BatchNormCall call;
  ABSL_ASSIGN_OR_RETURN(call.input, TensorOf(context, 0, "input", types));
  const TensorView& input = *call.input;
  ABSL_RETURN_IF_ERROR(CheckBatchNormInput<CheckedInt>(ToDims(input.sizes)));
  const int64_t channels = input.sizes[1];
  ABSL_ASSIGN_OR_RETURN(call.weight, ChannelVector(context, 1, "weight", channels));
  ABSL_ASSIGN_OR_RETURN(call.bias, ChannelVector(context, 2, "bias", channels));
  DType dtype = input.dtype;
  if (running) {
    ABSL_ASSIGN_OR_RETURN(call.running_mean, ChannelVector(context, 3, "running_mean", channels));
    ABSL_ASSIGN_OR_RETURN(call.running_var, ChannelVector(context, 4, "running_var", channels));
    if (call.running_mean == nullptr || call.running_var == nullptr) {
      return absl::InvalidArgumentError("batch norm: the running statistics are missing");
    }
    ABSL_ASSIGN_OR_RETURN(dtype, ParameterDtype(context, input.dtype, {1, 2, 3, 4}));
  } else {
    ABSL_ASSIGN_OR_RETURN(dtype, ParameterDtype(context, input.dtype, {1, 2}));
  }
  if (mode != BatchNormMode::kInference) {
    ABSL_ASSIGN_OR_RETURN(call.training, context.Bool(running ? 5 : 3));
  }
  if (!running && !call.training) {
    return absl::InvalidArgumentError("training: batch norm without statistics expects true");
  }
  if (call.training) ABSL_RETURN_IF_ERROR(CheckHasElements<CheckedInt>(ToDims(input.sizes)));
  ABSL_ASSIGN_OR_RETURN(call.momentum, context.Double(arguments - 2));
  ABSL_ASSIGN_OR_RETURN(call.eps, context.Double(arguments - 1));
  ABSL_ASSIGN_OR_RETURN(call.out, OutputOf(context, 0, input.dtype, input));
  const CheckedInt saved = call.training ? channels : 0;
  ABSL_ASSIGN_OR_RETURN(call.save_mean,
                        OutputOf(context, 1, dtype, absl::MakeConstSpan(&saved, 1)));
  ABSL_ASSIGN_OR_RETURN(call.save_rstd,
                        OutputOf(context, 2, dtype, absl::MakeConstSpan(&saved, 1)));
  if (running && call.training) {
    ABSL_ASSIGN_OR_RETURN(call.new_mean, context.MutableTensor(3));
    ABSL_ASSIGN_OR_RETURN(call.new_var, context.MutableTensor(4));
  }
  return call;
}

void BatchNormCall::SaveStatistics(int64_t channel, double mean, double var, double rstd) const {
  Writer<double> write_mean(*save_mean), write_rstd(*save_rstd);
  write_mean(channel * save_mean->strides[0], mean);
  write_rstd(channel * save_rstd->strides[0], rstd);
  if (new_mean == nullptr) return;
  const double n = static_cast<double>(input->numel() / input->sizes[1]);
  const double mean_now = OptionalVector(running_mean, 0)[channel],
               var_now = OptionalVector(running_var, 1)[channel];
  Writer<double> write_new_mean(*new_mean), write_new_var(*new_var);
  write_new_mean(channel * new_mean->strides[0], mean_now + momentum * (mean - mean_now));
  write_new_var(channel * new_var->strides[0], var_now + momentum * (var * n / (n - 1) - var_now));
}

}  // namespace belay
