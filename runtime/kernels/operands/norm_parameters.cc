#include "runtime/kernels/operands/norm_parameters.h"

#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"

namespace belay {
namespace {

absl::StatusOr<NormResults> ResultsOfSizes(KernelContext& context, const TensorView& input,
                                           DType statistics, absl::Span<const CheckedInt> sizes) {
  NormResults results;
  ABSL_ASSIGN_OR_RETURN(results.out, OutputOf(context, 0, input.dtype, input));
  ABSL_ASSIGN_OR_RETURN(results.mean, OutputOf(context, 1, statistics, sizes));
  ABSL_ASSIGN_OR_RETURN(results.rstd, OutputOf(context, 2, statistics, sizes));
  return results;
}

}  // namespace

absl::StatusOr<NormResults> LayerNormResults(KernelContext& context,
                                             const LayerNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> stats, call.StatsShape());
  return ResultsOfSizes(context, *call.input, call.parameter_dtype, stats);
}

absl::StatusOr<NormResults> GroupNormResults(KernelContext& context,
                                             const GroupNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> stats, call.StatsShape());
  return ResultsOfSizes(context, *call.input, call.parameter_dtype, stats);
}

absl::StatusOr<BatchNormResults> ResultsOf(KernelContext& context,
                                           const BatchNormCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const CheckedInt saved = call.training ? call.input->sizes[1] : 0;
  BatchNormResults results;
  ABSL_ASSIGN_OR_RETURN(
      static_cast<NormResults&>(results),
      ResultsOfSizes(context, *call.input, call.parameter_dtype, absl::MakeConstSpan(&saved, 1)));
  if (call.running_mean != nullptr && call.training) {
    ABSL_ASSIGN_OR_RETURN(results.new_mean, context.MutableTensor(call.new_mean));
    ABSL_ASSIGN_OR_RETURN(results.new_var, context.MutableTensor(call.new_var));
  }
  return results;
}

void BatchNormResults::SaveStatistics(const BatchNormCall<KernelArguments>& call, int64_t channel,
                                      double mean_now, double var, double rstd_now) const {
  Writer<double> write_mean(*mean), write_rstd(*rstd);
  write_mean(channel * mean->strides[0], mean_now);
  write_rstd(channel * rstd->strides[0], rstd_now);
  if (new_mean == nullptr) return;
  const double n = static_cast<double>(call.input->numel() / call.input->sizes[1]);
  const double old_mean = OptionalVector(call.running_mean, 0)[channel],
               old_var = OptionalVector(call.running_var, 1)[channel];
  Writer<double> write_new_mean(*new_mean), write_new_var(*new_var);
  write_new_mean(channel * new_mean->strides[0], old_mean + call.momentum * (mean_now - old_mean));
  write_new_var(channel * new_var->strides[0],
                old_var + call.momentum * (var * n / (n - 1) - old_var));
}

}  // namespace belay
