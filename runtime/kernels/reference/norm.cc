// Batch, layer and group normalization: (x - mean) / sqrt(var + eps) * weight + bias. Mean and
// variance are those of a slice of the input, or given. Computed in double precision.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/norm.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/norm_parameters.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

struct Moments {
  double mean = 0, var = 0;  // biased variance: divided by the number of elements
};

// Computes the moments of a slice that begins at `base`. Without elements, the mean is 0 and the
// variance NaN.
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

absl::Status BatchNorm(KernelContext& context, const BatchNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const BatchNormResults results, ResultsOf(context, call));
  const TensorView &input = *call.input, &out = *results.out;
  const Reader<double> in(input);
  const Writer<double> write(out);
  const OptionalVector scale(call.weight, 1), shift(call.bias, 0), mean_in(call.running_mean, 0),
      var_in(call.running_var, 1);
  const Sizes sizes = SelectDims(input.sizes, 0, 0b10);
  const Strides in_strides = SelectDims(input.strides, 0, 0b10);
  const Strides out_strides = SelectDims(out.strides, 0, 0b10);
  for (int64_t c = 0; c < input.sizes[1]; ++c) {
    const int64_t from = c * input.strides[1], to = c * out.strides[1];
    const Moments m =
        call.training ? MomentsOf(in, from, sizes, in_strides) : Moments{mean_in[c], var_in[c]};
    const double rstd = 1 / std::sqrt(m.var + call.eps);
    if (call.training) results.SaveStatistics(call, c, m.mean, m.var, rstd);
    const double factor = rstd * scale[c], offset = shift[c];
    for (StridedIterator<2> it(sizes, {in_strides, out_strides}); !it.done(); it.Next()) {
      write(to + it.offset(1), (in(from + it.offset(0)) - m.mean) * factor + offset);
    }
  }
  return absl::OkStatus();
}

absl::Status LayerNorm(KernelContext& context, const LayerNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const NormResults results, LayerNormResults(context, call));
  const auto& [out, out_mean, out_rstd] = results;
  const TensorView *const input = call.input, *const weight = call.weight, *const bias = call.bias;
  ABSL_ASSIGN_OR_RETURN(const Sizes normalized, ToSizes(call.normalized_shape));

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
    const double rstd = 1 / std::sqrt(m.var + call.eps);
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

absl::Status GroupNorm(KernelContext& context, const GroupNormCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const NormResults results, GroupNormResults(context, call));
  const auto& [out, out_mean, out_rstd] = results;
  const TensorView *const input = call.input, *const weight = call.weight, *const bias = call.bias;
  const int64_t n = call.n.value(), channels = call.channels.value(), groups = call.groups;

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
      const double rstd = 1 / std::sqrt(m.var + call.eps);
      write_mean(i * out_mean->strides[0] + g * out_mean->strides[1], m.mean);
      write_rstd(i * out_rstd->strides[0] + g * out_rstd->strides[1], rstd);
      if (input->numel() == 0) continue;  // any number of channels
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

constexpr std::string_view kLayerNorm = "input normalized_shape weight bias eps -> 3";
constexpr std::string_view kGroupNorm = "input weight bias N C HxW group eps -> 3";
constexpr std::string_view kInference =
    "input weight bias running_mean running_var momentum eps -> 3";
constexpr std::string_view kRunning =
    "input weight bias running_mean running_var training momentum eps -> 3";
constexpr std::string_view kNoStats = "input weight bias training momentum eps -> 3";

constexpr Kernel kKernels[] = {
    KernelRow<&LayerNorm>("aten.native_layer_norm.default", kLayerNorm, "LayerNorm",
                          KernelEngine::kReference),
    KernelRow<&GroupNorm>("aten.native_group_norm.default", kGroupNorm, "GroupNorm",
                          KernelEngine::kReference),
    KernelRow<&BatchNorm>("aten._native_batch_norm_legit_no_training.default", kInference,
                          "BatchNormInference", KernelEngine::kReference),
    KernelRow<&BatchNorm>("aten._native_batch_norm_legit.default", kRunning, "BatchNorm",
                          KernelEngine::kReference),
    KernelRow<&BatchNorm>("aten._native_batch_norm_legit.no_stats", kNoStats, "BatchNormNoStats",
                          KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> NormKernels() { return kKernels; }

}  // namespace belay
