#include "backends/cpu/testing/reference_kernels.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/calls.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel/kernel_arguments.h"

namespace belay::cpu {
namespace {

double Apply(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kHardsigmoid:
      return std::isnan(x) ? x : std::clamp(x + 3, 0.0, 6.0) / 6;
    case Activation::kHardswish:
      return std::isnan(x) ? x : x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5)));
    case Activation::kGeluTanh:
      return x * 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  return x;
}

const float& At(const TensorView& tensor, absl::Span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides[d];
  return tensor.as<const float>()[offset];
}

// What the epilogue makes of a sum, at the place of the result; dimension `channels` is the bias's.
float Finish(const EpilogueCall<KernelArguments>& epilogue, double sum,
             absl::Span<const int64_t> index, size_t channels) {
  if (epilogue.bias != nullptr) sum += At(*epilogue.bias, index.subspan(channels, 1));
  const double other = epilogue.other == nullptr ? 0 : At(*epilogue.other, index);
  if (!epilogue.multiply) sum += other;
  sum = Apply(epilogue.activation, sum);
  if (epilogue.multiply && epilogue.other != nullptr) sum *= other;
  const float result = static_cast<float>(sum);
  return std::isnan(result) ? result : std::clamp(result, epilogue.low, epilogue.high);
}

// Calls `sum` for each place of the result and stores what the epilogue makes of it.
template <class Sum>
absl::Status ForEachResult(KernelContext& context, absl::Span<const CheckedInt> shape,
                           const EpilogueCall<KernelArguments>& epilogue, size_t channels,
                           Sum sum) {
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView* const output, context.Output(0, sizes));
  Sizes index(sizes.size(), int64_t{0});
  for (int64_t left = output->numel(); left > 0; --left) {
    const_cast<float&>(At(*output, index)) = Finish(epilogue, sum(index), index, channels);
    for (int d = sizes.size() - 1; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
  }
  return absl::OkStatus();
}

absl::Status RunLinear(KernelContext& context, const LinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last];
  const float* weight = static_cast<const float*>(call.weight->data);
  return ForEachResult(
      context, shape, call.epilogue, static_cast<size_t>(last), [&](const Sizes& index) {
        const int64_t panel = index[last] / kPanelColumns;
        const float* column = weight + panel * k * kPanelColumns + index[last] % kPanelColumns;
        Sizes at = index;
        double sum = 0;
        for (at[last] = 0; at[last] < k; ++at[last]) {
          sum += double{At(*call.input, at)} * column[at[last] * kPanelColumns];
        }
        return sum;
      });
}

template <bool kDepthwise>
absl::Status RunConv2d(KernelContext& context,
                       const Conv2dCall<KernelArguments, kDepthwise>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Sizes& in = call.input->sizes;
  const Window& window = call.window;
  const float* weight = static_cast<const float*>(call.weight->data);
  const auto weight_at = [&](int64_t tap, int64_t channel, int64_t result) -> double {
    if (kDepthwise) {
      return weight[result / kDepthwiseChannels * kDepthwiseChannels * window.taps() +
                    tap * kDepthwiseChannels + result % kDepthwiseChannels];
    }
    return weight[result / kPanelColumns * kPanelColumns * window.taps() * in[1] +
                  (tap * in[1] + channel) * kPanelColumns + result % kPanelColumns];
  };
  return ForEachResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    double sum = 0;
    for (int64_t tap = 0; tap < window.taps(); ++tap) {
      const int64_t taps[] = {tap / window.kernel_size[1], tap % window.kernel_size[1]};
      Sizes at = index;
      bool inside = true;
      for (int s = 0; s < 2; ++s) {
        at[2 + s] =
            index[2 + s] * window.stride[s] - window.padding[s] + taps[s] * window.dilation[s];
        inside = inside && at[2 + s] >= 0 && at[2 + s] < in[2 + s];
      }
      if (!inside) continue;
      if (kDepthwise) {
        sum += At(*call.input, at) * weight_at(tap, 0, index[1]);
        continue;
      }
      for (at[1] = 0; at[1] < in[1]; ++at[1]) {
        sum += At(*call.input, at) * weight_at(tap, at[1], index[1]);
      }
    }
    return sum;
  });
}

constexpr Kernel kKernels[] = {
    KernelRow<&RunLinear>("belay_cpu.linear.default",
                          "input weight bias other out_features activation combine low high",
                          "LinearReference", KernelEngine::kReference),
    KernelRow<&RunConv2d<false>>("belay_cpu.conv2d.default",
                                 "input weight bias other out_channels kernel_size stride padding "
                                 "dilation activation combine low high",
                                 "Conv2dReference", KernelEngine::kReference),
    KernelRow<&RunConv2d<true>>("belay_cpu.depthwise_conv2d.default",
                                "input weight bias other kernel_size stride padding dilation "
                                "activation combine low high",
                                "DepthwiseConv2dReference", KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> CpuReferenceKernels() { return kKernels; }

}  // namespace belay::cpu
