#include "backends/cpu/testing/reference_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

absl::Status RunAttention(KernelContext& context, const AttentionCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView* const output, context.Output(0, sizes));
  if (output->numel() == 0) return absl::OkStatus();
  const int last = sizes.size() - 1, heads = last - 2, tokens = last - 1;
  const int64_t keys = call.key->sizes[tokens], shared = sizes[heads] / call.key->sizes[heads];
  // Of the query at `index` and a key, masked; -inf for one that is not seen.
  const auto score = [&](const Sizes& index, int64_t key) -> double {
    constexpr double kUnseen = -std::numeric_limits<double>::infinity();
    Sizes query_at = index, key_at = index;
    key_at[heads] /= shared;
    key_at[tokens] = key;
    double sum = 0;
    for (int64_t k = 0; k < call.query->sizes[last]; ++k) {
      query_at[last] = key_at[last] = k;
      sum += double{At(*call.query, query_at)} * At(*call.key, key_at);
    }
    sum *= call.scale;
    if (call.is_causal && key > index[tokens]) return kUnseen;
    if (call.mask == nullptr) return sum;
    int64_t offset = 0;
    for (int back = 1; back <= call.mask->rank(); ++back) {
      const int d = call.mask->rank() - back;
      const int64_t at = back == 1 ? key : index[sizes.size() - back];
      if (call.mask->sizes[d] != 1) offset += at * call.mask->strides[d];
    }
    if (call.mask->dtype == DType::kBool) {
      return call.mask->as<const uint8_t>()[offset] != 0 ? sum : kUnseen;
    }
    return sum + call.mask->as<const float>()[offset];
  };
  Sizes index(sizes.size(), int64_t{0});
  for (int64_t left = output->numel(); left > 0; --left) {
    double most = -std::numeric_limits<double>::infinity(), total = 0, sum = 0;
    for (int64_t key = 0; key < keys; ++key) most = std::max(most, score(index, key));
    for (int64_t key = 0; key < keys && !std::isinf(most); ++key) {
      const double weight = std::exp(score(index, key) - most);
      Sizes at = index;
      at[heads] /= shared;
      at[tokens] = key;
      total += weight;
      sum += weight * At(*call.value, at);
    }
    const_cast<float&>(At(*output, index)) = static_cast<float>(total == 0 ? 0.0 : sum / total);
    for (int d = last; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
  }
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    KernelRow<&RunAttention>("belay_cpu.attention.default", "query key value mask scale is_causal",
                             "AttentionReference", KernelEngine::kReference),
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
