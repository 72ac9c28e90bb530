#include <cmath>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/norm.h"
#include "runtime/kernels/dense.h"
#include "runtime/kernels/norm/norm.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {
namespace {

constexpr DTypeSet kF32 = {DType::kFloat32};

// A row-major float tensor of these sizes, or null for none.
absl::StatusOr<const float*> ParameterOf(const KernelContext& context, int i, std::string_view name,
                                         absl::Span<const CheckedInt> sizes) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* t, OptionalTensorOf(context, i, name, kF32));
  if (t == nullptr) return nullptr;
  ABSL_RETURN_IF_ERROR(CheckSameShape<CheckedInt>(name, ToDims(t->sizes), sizes));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*t));
  return t->as<float>();
}

absl::Status LayerNorm(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(5, 3));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kF32));
  ABSL_ASSIGN_OR_RETURN(const Sizes normalized, context.IntList(1));
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> stats,
                        LayerNormStatsShape<CheckedInt>(ToDims(input->sizes), ToDims(normalized)));
  ABSL_ASSIGN_OR_RETURN(const float* weight, ParameterOf(context, 2, "weight", ToDims(normalized)));
  ABSL_ASSIGN_OR_RETURN(const float* bias, ParameterOf(context, 3, "bias", ToDims(normalized)));
  ABSL_ASSIGN_OR_RETURN(const double eps, context.Double(4));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, *input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* mean, OutputOf(context, 1, DType::kFloat32, stats));
  ABSL_ASSIGN_OR_RETURN(const TensorView* rstd, OutputOf(context, 2, DType::kFloat32, stats));
  for (const TensorView* t : {out, mean, rstd}) ABSL_RETURN_IF_ERROR(CheckRowMajor(*t));
  const int64_t n = *NumElements(normalized);
  if (input->numel() == 0) {
    // Rows of nothing have no mean.
    if (mean->numel() != 0)
      return absl::InvalidArgumentError("layer norm: the normalized dimensions have no elements");
    return absl::OkStatus();
  }
  for (int64_t row = 0; row < input->numel() / n; ++row) {
    const RowStatistics s =
        LayerNormRowF32(input->as<float>() + row * n, static_cast<size_t>(n), weight, bias,
                        static_cast<float>(eps), out->as<float>() + row * n);
    mean->as<float>()[row] = s.mean;
    rstd->as<float>()[row] = s.rstd;
  }
  return absl::OkStatus();
}

bool AcceptsLayerNorm(const KernelContext& context) {
  if (context.num_arguments() != 5 || context.num_outputs() != 3) return false;
  for (int i = 0; i < 3; ++i) {
    if (!IsRowMajorF32Output(context, i)) return false;
  }
  const TensorView* input = context.argument(0).get_if<TensorView>();
  return IsRowMajorF32(context, 0) && input->numel() != 0 &&
         IsRowMajorF32(context, 2, /*none_counts=*/true) &&
         IsRowMajorF32(context, 3, /*none_counts=*/true);
}

// input, weight?, bias?, running_mean, running_var, momentum, eps
absl::Status BatchNorm(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(7, 3));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kF32));
  ABSL_RETURN_IF_ERROR(CheckBatchNormInput<CheckedInt>(ToDims(input->sizes)));
  const CheckedInt channels[] = {input->sizes[1]};
  ABSL_ASSIGN_OR_RETURN(const float* weight, ParameterOf(context, 1, "weight", channels));
  ABSL_ASSIGN_OR_RETURN(const float* bias, ParameterOf(context, 2, "bias", channels));
  ABSL_ASSIGN_OR_RETURN(const float* mean, ParameterOf(context, 3, "running_mean", channels));
  ABSL_ASSIGN_OR_RETURN(const float* var, ParameterOf(context, 4, "running_var", channels));
  if (mean == nullptr || var == nullptr) {
    return absl::InvalidArgumentError("batch norm: the running statistics are missing");
  }
  ABSL_ASSIGN_OR_RETURN(const double eps, context.Double(6));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*input));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, DType::kFloat32, *input));
  ABSL_RETURN_IF_ERROR(CheckRowMajor(*out));
  const CheckedInt nothing[] = {0};
  ABSL_RETURN_IF_ERROR(OutputOf(context, 1, DType::kFloat32, nothing).status());
  ABSL_RETURN_IF_ERROR(OutputOf(context, 2, DType::kFloat32, nothing).status());
  if (input->numel() == 0) return absl::OkStatus();
  const int64_t plane = input->numel() / (input->sizes[0] * input->sizes[1]);
  const float* in = input->as<float>();
  float* to = out->as<float>();
  for (int64_t n = 0; n < input->sizes[0]; ++n) {
    for (int64_t c = 0; c < input->sizes[1]; ++c, in += plane, to += plane) {
      const double rstd = 1 / std::sqrt(static_cast<double>(var[c]) + eps);
      const float factor = static_cast<float>(rstd * (weight == nullptr ? 1.0 : weight[c]));
      NormalizeF32(in, static_cast<size_t>(plane), mean[c], factor, bias == nullptr ? 0 : bias[c],
                   to);
    }
  }
  return absl::OkStatus();
}

bool AcceptsBatchNorm(const KernelContext& context) {
  if (context.num_arguments() != 7 || context.num_outputs() != 3) return false;
  for (int i = 0; i < 3; ++i) {
    if (!IsRowMajorF32Output(context, i)) return false;
  }
  return IsRowMajorF32(context, 0) && IsRowMajorF32(context, 1, true) &&
         IsRowMajorF32(context, 2, true) && IsRowMajorF32(context, 3) && IsRowMajorF32(context, 4);
}

constexpr Kernel kKernels[] = {
    {"aten.native_layer_norm.default", "LayerNormF32", KernelEngine::kHighway, &LayerNorm,
     &AcceptsLayerNorm},
    {"aten._native_batch_norm_legit_no_training.default", "BatchNormInferenceF32",
     KernelEngine::kHighway, &BatchNorm, &AcceptsBatchNorm},
};

}  // namespace

absl::Span<const Kernel> NormHighwayKernels() { return kKernels; }

}  // namespace belay
