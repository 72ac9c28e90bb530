// Batch, layer and group normalization, and the gradients of the latter two.

#include <string_view>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/layout_rules.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/norm.h"

namespace belay::exir {
namespace {

constexpr Tolerance kNorm = {1e-5, 1e-6};

// The dtype of parameters and statistics: the input's, or for half precision inputs float32. All
// parameters that are there have it.
absl::StatusOr<DType> ParameterDtype(const MetaContext& context, DType input,
                                     std::initializer_list<int> parameters) {
  std::optional<DType> dtype;
  for (int i : parameters) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* parameter, context.OptionalTensor(i));
    if (parameter == nullptr) continue;
    const bool mixed = parameter->dtype == DType::kFloat32 && DTypeSize(input) == 2;
    if ((parameter->dtype != input && !mixed) ||
        (dtype.has_value() && *dtype != parameter->dtype)) {
      return absl::InvalidArgumentError(
          absl::StrCat(context.schema().arguments[i].name, ": expected ",
                       DTypeName(dtype.value_or(input)), ", got ", DTypeName(parameter->dtype)));
    }
    dtype = parameter->dtype;
  }
  return dtype.value_or(input);
}

// Checks input (0), weight (1), bias (2) and, where given, the running statistics (3, 4); sets the
// first output. Returns the dtype of the statistics.
absl::StatusOr<DType> BatchNorm(MetaContext& context, bool running) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_RETURN_IF_ERROR(CheckBatchNormInput<SymInt>(input->sizes));
  const int parameters = running ? 5 : 3;
  for (int i = 1; i < parameters; ++i) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* parameter, context.OptionalTensor(i));
    if (parameter == nullptr && i < 3) continue;
    if (parameter == nullptr) {
      return absl::InvalidArgumentError("batch norm: the running statistics are missing");
    }
    ABSL_RETURN_IF_ERROR(CheckChannelVector<SymInt>(context.schema().arguments[i].name,
                                                    parameter->sizes, input->sizes[1]));
  }
  context.SetOutput(0, DenseInFormat(input->dtype, input->sizes, LooksChannelsLast(*input)));
  return running ? ParameterDtype(context, input->dtype, {1, 2, 3, 4})
                 : ParameterDtype(context, input->dtype, {1, 2});
}

absl::Status SetSavedStats(MetaContext& context, DType dtype, bool training) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, context.Tensor(0));
  if (training) ABSL_RETURN_IF_ERROR(CheckHasElements<SymInt>(input->sizes));
  const SymInt count = training ? input->sizes[1] : SymInt(0);
  context.SetTensor(1, dtype, {count});
  context.SetTensor(2, dtype, {count});
  return absl::OkStatus();
}

absl::Status BatchNormInferenceMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, BatchNorm(context, true));
  return SetSavedStats(context, dtype, false);
}

absl::Status BatchNormMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, BatchNorm(context, true));
  ABSL_ASSIGN_OR_RETURN(const bool training, context.Bool(5));
  return SetSavedStats(context, dtype, training);
}

absl::Status BatchNormNoStatsMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const DType dtype, BatchNorm(context, false));
  ABSL_ASSIGN_OR_RETURN(const bool training, context.Bool(3));
  if (!training) {
    return absl::InvalidArgumentError("training: batch norm without statistics expects true");
  }
  return SetSavedStats(context, dtype, true);
}

absl::Status LayerNormMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> normalized, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> stats,
                        LayerNormStatsShape<SymInt>(input->sizes, normalized));
  for (int i : {2, 3}) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* parameter, context.OptionalTensor(i));
    if (parameter == nullptr) continue;
    ABSL_RETURN_IF_ERROR(
        CheckSameShape<SymInt>(context.schema().arguments[i].name, parameter->sizes, normalized));
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, ParameterDtype(context, input->dtype, {2, 3}));
  context.SetTensor(0, input->dtype, input->sizes);
  context.SetTensor(1, dtype, stats);
  context.SetTensor(2, dtype, stats);
  return absl::OkStatus();
}

absl::Status GroupNormMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const SymInt n, context.Int(3));
  ABSL_ASSIGN_OR_RETURN(const SymInt c, context.Int(4));
  ABSL_ASSIGN_OR_RETURN(const SymInt hxw, context.Int(5));
  ABSL_ASSIGN_OR_RETURN(const int64_t group, context.StaticInt(6));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> stats,
                        GroupNormStatsShape<SymInt>(input->sizes, n, c, hxw, group));
  for (int i : {1, 2}) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* parameter, context.OptionalTensor(i));
    if (parameter == nullptr) continue;
    ABSL_RETURN_IF_ERROR(
        CheckChannelVector<SymInt>(context.schema().arguments[i].name, parameter->sizes, c));
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, ParameterDtype(context, input->dtype, {1, 2}));
  context.SetOutput(0, DenseInFormat(input->dtype, input->sizes, LooksChannelsLast(*input)));
  context.SetTensor(1, dtype, stats);
  context.SetTensor(2, dtype, stats);
  return absl::OkStatus();
}

absl::Status LayerNormBackwardMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grad, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 1, grad->dtype));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> normalized, context.IntList(2));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> stats,
                        LayerNormStatsShape<SymInt>(input->sizes, normalized));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("grad_out", grad->sizes, input->sizes));
  for (int i : {3, 4}) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* stat, TensorOf(context, i, kFloatTypes));
    ABSL_RETURN_IF_ERROR(
        CheckSameShape<SymInt>(context.schema().arguments[i].name, stat->sizes, stats));
  }
  for (int i : {5, 6}) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* parameter, context.OptionalTensor(i));
    if (parameter == nullptr) continue;
    ABSL_RETURN_IF_ERROR(
        CheckSameShape<SymInt>(context.schema().arguments[i].name, parameter->sizes, normalized));
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, ParameterDtype(context, input->dtype, {5, 6}));
  ABSL_ASSIGN_OR_RETURN(const uint32_t mask, BoolMask(context, 7, 3));
  if (mask & 1) context.SetTensor(0, input->dtype, input->sizes);
  if (mask & 2) context.SetTensor(1, dtype, normalized);
  if (mask & 4) context.SetTensor(2, dtype, normalized);
  return absl::OkStatus();
}

absl::Status GroupNormBackwardMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* grad, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* input, TensorOf(context, 1, grad->dtype));
  ABSL_ASSIGN_OR_RETURN(const SymInt n, context.Int(5));
  ABSL_ASSIGN_OR_RETURN(const SymInt c, context.Int(6));
  ABSL_ASSIGN_OR_RETURN(const SymInt hxw, context.Int(7));
  ABSL_ASSIGN_OR_RETURN(const int64_t group, context.StaticInt(8));
  ABSL_ASSIGN_OR_RETURN(const std::vector<SymInt> stats,
                        GroupNormStatsShape<SymInt>(input->sizes, n, c, hxw, group));
  ABSL_RETURN_IF_ERROR(CheckSameShape<SymInt>("grad_out", grad->sizes, input->sizes));
  for (int i : {2, 3}) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* stat, TensorOf(context, i, kFloatTypes));
    ABSL_RETURN_IF_ERROR(
        CheckSameShape<SymInt>(context.schema().arguments[i].name, stat->sizes, stats));
  }
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* weight, context.OptionalTensor(4));
  if (weight != nullptr) {
    ABSL_RETURN_IF_ERROR(CheckChannelVector<SymInt>("weight", weight->sizes, c));
  }
  ABSL_ASSIGN_OR_RETURN(const DType dtype, ParameterDtype(context, input->dtype, {4}));
  ABSL_ASSIGN_OR_RETURN(const uint32_t mask, BoolMask(context, 9, 3));
  if (mask & 1) {
    context.SetOutput(0, DenseInFormat(input->dtype, input->sizes, LooksChannelsLast(*input)));
  }
  if (mask & 2) context.SetTensor(1, dtype, {c});
  if (mask & 4) context.SetTensor(2, dtype, {c});
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? "
               "bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> "
               "(Tensor, Tensor, Tensor)",
     .meta = &BatchNormInferenceMeta,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B running_mean:B running_var:B ->0:A ->1:B ->2:B A=float "
               "B=float",
     .tolerance = kNorm},
    {.schema = "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, "
               "Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, "
               "float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &BatchNormMeta,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B running_mean:B running_var:B ->0:A ->1:B ->2:B A=float "
               "B=float",
     .tolerance = kNorm},
    {.schema =
         "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, "
         "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &BatchNormNoStatsMeta,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
               "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &LayerNormMeta,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema = "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, "
               "SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
     .meta = &GroupNormMeta,
     .traits = kCore,
     .dtypes = "input:A weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema = "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] "
               "normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] "
               "output_mask) -> (Tensor, Tensor, Tensor)",
     .meta = &LayerNormBackwardMeta,
     .traits = kCore,
     .dtypes = "grad_out:A input:A mean:B rstd:B weight:B bias:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
    {.schema =
         "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor "
         "rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] "
         "output_mask) -> (Tensor, Tensor, Tensor)",
     .meta = &GroupNormBackwardMeta,
     .traits = kCore,
     .dtypes = "grad_out:A input:A mean:B rstd:B weight:B ->0:A ->1:B ->2:B A=float B=float",
     .tolerance = kNorm},
};

}  // namespace

absl::Span<const OpDef> NormOps() { return kRows; }

}  // namespace belay::exir
