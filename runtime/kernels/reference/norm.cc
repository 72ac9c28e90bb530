// Batch, layer and group normalisation: (x - mean) / sqrt(var + eps) * weight + bias, where mean
// and variance are those of a slice of the input, or given. Computed in double precision.

#include <cmath>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/norm.h"
#include "runtime/kernels/reference/element_access.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/norm_parameters.h"
#include "runtime/kernels/reference/operands.h"

namespace belay {
namespace {

struct Moments {
  double mean = 0, var = 0;  // var is divided by the number of elements
};

// Of the elements of a slice that begins at `base`. Without elements the mean is 0 and the variance
// NaN.
Moments MomentsOf(const Reader<double>& in, int64_t base, const Sizes& sizes,
                  const Strides& strides) {
  Moments m;
  double count = 0;
  for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
    m.mean += in(base + it.offset(0));
    ++count;
  }
  if (count > 0) m.mean /= count;
  for (StridedIterator<1> it(sizes, {strides}); !it.done(); it.Next()) {
    const double distance = in(base + it.offset(0)) - m.mean;
    m.var += distance * distance;
  }
  m.var /= count;
  return m;
}

enum class BatchNormMode { kInference, kRunning, kNoStats };

template <BatchNormMode kMode>
absl::Status BatchNorm(KernelContext& context) {
  constexpr bool kRunning = kMode != BatchNormMode::kNoStats;
  constexpr int kArguments = kMode == BatchNormMode::kInference ? 7 : kRunning ? 8 : 6;
  ABSL_RETURN_IF_ERROR(context.CheckArity(kArguments, 3));
  ABSL_ASSIGN_OR_RETURN(const TensorView* input, TensorOf(context, 0, "input", kFloatTypes));
  ABSL_RETURN_IF_ERROR(CheckBatchNormInput<CheckedInt>(ToDims(input->sizes)));
  const int64_t channels = input->sizes[1];
  ABSL_ASSIGN_OR_RETURN(const TensorView* weight, ChannelVector(context, 1, "weight", channels));
  ABSL_ASSIGN_OR_RETURN(const TensorView* bias, ChannelVector(context, 2, "bias", channels));
  const TensorView* running_mean = nullptr;
  const TensorView* running_var = nullptr;
  DType dtype = input->dtype;
  if (kRunning) {
    ABSL_ASSIGN_OR_RETURN(running_mean, ChannelVector(context, 3, "running_mean", channels));
    ABSL_ASSIGN_OR_RETURN(running_var, ChannelVector(context, 4, "running_var", channels));
    if (running_mean == nullptr || running_var == nullptr) {
      return absl::InvalidArgumentError("batch norm: the running statistics are missing");
    }
    ABSL_ASSIGN_OR_RETURN(dtype, ParameterDtype(context, input->dtype, {1, 2, 3, 4}));
  } else {
    ABSL_ASSIGN_OR_RETURN(dtype, ParameterDtype(context, input->dtype, {1, 2}));
  }
  bool training = false;
  if (kMode != BatchNormMode::kInference) {
    ABSL_ASSIGN_OR_RETURN(training, context.Bool(kRunning ? 5 : 3));
  }
  if (!kRunning && !training) {
    return absl::InvalidArgumentError("training: batch norm without statistics expects true");
  }
  if (training) ABSL_RETURN_IF_ERROR(CheckHasElements<CheckedInt>(ToDims(input->sizes)));
  ABSL_ASSIGN_OR_RETURN(const double momentum, context.Double(kArguments - 2));
  ABSL_ASSIGN_OR_RETURN(const double eps, context.Double(kArguments - 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, input->dtype, *input));
  const CheckedInt saved = training ? channels : 0;
  ABSL_ASSIGN_OR_RETURN(const TensorView* save_mean,
                        OutputOf(context, 1, dtype, absl::MakeConstSpan(&saved, 1)));
  ABSL_ASSIGN_OR_RETURN(const TensorView* save_rstd,
                        OutputOf(context, 2, dtype, absl::MakeConstSpan(&saved, 1)));

  const Reader<double> in(*input);
  const Writer<double> write(*out), write_mean(*save_mean), write_rstd(*save_rstd);
  const OptionalVector scale(weight, 1), shift(bias, 0), mean_in(running_mean, 0),
      var_in(running_var, 1);
  const Sizes sizes = SelectDims(input->sizes, 0, 0b10);
  const Strides in_strides = SelectDims(input->strides, 0, 0b10);
  const Strides out_strides = SelectDims(out->strides, 0, 0b10);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t from = c * input->strides[1], to = c * out->strides[1];
    Moments m = {mean_in[c], var_in[c]};
    if (training) {
      m = MomentsOf(in, from, sizes, in_strides);
      if (kRunning) {
        const double n = static_cast<double>(*NumElements(sizes));
        ABSL_ASSIGN_OR_RETURN(const TensorView* mean, context.MutableTensor(3));
        ABSL_ASSIGN_OR_RETURN(const TensorView* var, context.MutableTensor(4));
        const double mean_now = mean_in[c], var_now = var_in[c];
        Writer<double> write_running_mean(*mean), write_running_var(*var);
        write_running_mean(c * mean->strides[0], mean_now + momentum * (m.mean - mean_now));
        write_running_var(c * var->strides[0],
                          var_now + momentum * (m.var * n / (n - 1) - var_now));
      }
    }
    const double rstd = 1 / std::sqrt(m.var + eps);
    if (training) {
      write_mean(c * save_mean->strides[0], m.mean);
      write_rstd(c * save_rstd->strides[0], rstd);
    }
    const double factor = rstd * scale[c], offset = shift[c];
    for (StridedIterator<2> it(sizes, {in_strides, out_strides}); !it.done(); it.Next()) {
      write(to + it.offset(1), (in(from + it.offset(0)) - m.mean) * factor + offset);
    }
  }
  return absl::OkStatus();
}

absl::Status LayerNorm(KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const LayerNormCall call, ReadLayerNorm(context, kFloatTypes));
  const auto& [input, normalized, weight, bias, eps, out, out_mean, out_rstd] = call;

  const int leading = input->rank() - normalized.size();
  const uint32_t tail = ~uint32_t{0} << leading;
  const Reader<double> in(*input);
  const Writer<double> write(*out), write_mean(*out_mean), write_rstd(*out_rstd);
  const LayerReader scale(weight, normalized.size(), 1), shift(bias, normalized.size(), 0);
  const Strides in_strides = SelectDims(input->strides, leading);
  const Strides out_strides = SelectDims(out->strides, leading);
  for (StridedIterator<4> row(
           SelectDims(input->sizes, 0, tail),
           {SelectDims(input->strides, 0, tail), SelectDims(out->strides, 0, tail),
            SelectDims(out_mean->strides, 0, tail), SelectDims(out_rstd->strides, 0, tail)});
       !row.done(); row.Next()) {
    const Moments m = MomentsOf(in, row.offset(0), normalized, in_strides);
    const double rstd = 1 / std::sqrt(m.var + eps);
    write_mean(row.offset(2), m.mean);
    write_rstd(row.offset(3), rstd);
    for (StridedIterator<4> it(normalized, {in_strides, out_strides, scale.strides, shift.strides});
         !it.done(); it.Next()) {
      const double x = (in(row.offset(0) + it.offset(0)) - m.mean) * rstd;
      write(row.offset(1) + it.offset(1), x * scale(it.offset(2)) + shift(it.offset(3)));
    }
  }
  return absl::OkStatus();
}

absl::Status GroupNorm(KernelContext& context) {
  ABSL_ASSIGN_OR_RETURN(const GroupNormCall call, ReadGroupNorm(context, kFloatTypes));
  const auto& [input, weight, bias, n, channels, groups, eps, out, out_mean, out_rstd] = call;

  const Reader<double> in(*input);
  const Writer<double> write(*out), write_mean(*out_mean), write_rstd(*out_rstd);
  const OptionalVector scale(weight, 1), shift(bias, 0);
  const int64_t per_group = channels / groups;
  // One group: its channels, then the spatial dimensions.
  Sizes sizes = SelectDims(input->sizes, 1);
  sizes[0] = per_group;
  const Strides in_strides = SelectDims(input->strides, 1);
  const Sizes plane = SelectDims(input->sizes, 2);
  const Strides in_plane = SelectDims(input->strides, 2), out_plane = SelectDims(out->strides, 2);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t from = i * input->strides[0] + g * per_group * input->strides[1];
      const Moments m = MomentsOf(in, from, sizes, in_strides);
      const double rstd = 1 / std::sqrt(m.var + eps);
      write_mean(i * out_mean->strides[0] + g * out_mean->strides[1], m.mean);
      write_rstd(i * out_rstd->strides[0] + g * out_rstd->strides[1], rstd);
      if (input->numel() == 0) continue;  // of however many channels
      for (int64_t c = g * per_group; c < (g + 1) * per_group; ++c) {
        const int64_t source = i * input->strides[0] + c * input->strides[1];
        const int64_t target = i * out->strides[0] + c * out->strides[1];
        const double factor = rstd * scale[c], offset = shift[c];
        for (StridedIterator<2> it(plane, {in_plane, out_plane}); !it.done(); it.Next()) {
          write(target + it.offset(1), (in(source + it.offset(0)) - m.mean) * factor + offset);
        }
      }
    }
  }
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    {"aten._native_batch_norm_legit_no_training.default", "BatchNormInference",
     KernelEngine::kReference, &BatchNorm<BatchNormMode::kInference>},
    {"aten._native_batch_norm_legit.default", "BatchNorm", KernelEngine::kReference,
     &BatchNorm<BatchNormMode::kRunning>},
    {"aten._native_batch_norm_legit.no_stats", "BatchNormNoStats", KernelEngine::kReference,
     &BatchNorm<BatchNormMode::kNoStats>},
    {"aten.native_layer_norm.default", "LayerNorm", KernelEngine::kReference, &LayerNorm},
    {"aten.native_group_norm.default", "GroupNorm", KernelEngine::kReference, &GroupNorm},
};

}  // namespace

absl::Span<const Kernel> NormKernels() { return kKernels; }

}  // namespace belay
