// Reference kernels of operators on static int8 tensors.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backends/cpu/calls.h"
#include "backends/cpu/quantized_calls.h"
#include "backends/cpu/testing/reference_elements.h"
#include "backends/cpu/testing/reference_tables.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/packed/exact_activation.h"

namespace belay::cpu {
namespace {

int32_t QuantizedNumber(const Quantization& q, float y) {
  const float number = std::nearbyint(y * q.inverse_scale()) + static_cast<float>(q.zero_point);
  return static_cast<int32_t>(
      std::clamp(number, static_cast<float>(q.quant_min), static_cast<float>(q.quant_max)));
}
float RealNumber(double scale, int32_t zero_point, int32_t number) {
  return static_cast<float>(number - zero_point) * static_cast<float>(scale);
}

// Computes y from a sum of bytes from which the zero point is not subtracted yet.
float FinishReal(const QuantizedEpilogueCall<KernelArguments>& e, int64_t sum, int64_t channel) {
  sum -= int64_t{e.input_zero_point} * At<int32_t>(*e.weight_sums, {&channel, 1});
  float y = static_cast<float>(static_cast<int32_t>(sum)) * At(*e.scales, {&channel, 1});
  if (e.bias != nullptr) y = y + At(*e.bias, {&channel, 1});
  y = static_cast<float>(ExactActivation(e.activation, y));
  y = std::clamp(y, e.bounds.low, e.bounds.high);
  if (!e.inner.has_value()) return y;
  return RealNumber(e.inner->scale, e.inner->zero_point, QuantizedNumber(*e.inner, y));
}

// Calls `sum` for each index of the result and stores the sum after the epilogue.
template <class Sum>
absl::Status ForEachQuantizedResult(KernelContext& context, absl::Span<const CheckedInt> shape,
                                    const QuantizedEpilogueCall<KernelArguments>& epilogue,
                                    int channels, Sum sum) {
  const auto real = [&](const Sizes& index) {
    return FinishReal(epilogue, sum(index), index[channels]);
  };
  if (!epilogue.output.has_value()) return ForEachPlace<float>(context, shape, real);
  return ForEachPlace<uint8_t>(context, shape, [&](const Sizes& index) {
    return static_cast<uint8_t>(QuantizedNumber(*epilogue.output, real(index)));
  });
}

// Weight of a channel at row y and column x of the window.
int32_t PackedDepthwiseWeight(const TensorView& weight, const Window& window, int64_t channel,
                              int64_t y, int64_t x) {
  constexpr int64_t kBlock = kQuantizedDepthwiseChannels;
  const int64_t groups = (window.kernel_size[0] + 3) / 4, c = channel % kBlock;
  const int64_t group = (channel / kBlock * groups + y / 4) * window.kernel_size[1] + x;
  return weight.as<const int8_t>()[group * 256 + c % 16 / 4 * 64 + c / 16 * 16 + c % 4 * 4 + y % 4];
}

absl::Status RunQuantizedLinear(KernelContext& context,
                                const QuantizedLinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last];
  return ForEachQuantizedResult(context, shape, call.epilogue, last, [&](const Sizes& index) {
    Sizes at = index;
    int64_t sum = 0;
    for (at[last] = 0; at[last] < k; ++at[last]) {
      sum +=
          At<uint8_t>(*call.input, at) * PackedWeight(*call.weight, 1, k, 0, at[last], index[last]);
    }
    return sum;
  });
}

template <bool kDepthwise>
absl::Status RunQuantizedConv2d(KernelContext& context,
                                const QuantizedConv2dCall<KernelArguments, kDepthwise>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Sizes& in = call.input->sizes;
  const Window& window = call.window;
  const auto weight_at = [&](int64_t tap, int64_t channel, int64_t result) {
    if (kDepthwise) {
      return PackedDepthwiseWeight(*call.weight, window, result, tap / window.kernel_size[1],
                                   tap % window.kernel_size[1]);
    }
    const TapSizes taps = PackedTaps(in[1], window);
    const int64_t element = tap * in[1] + channel;
    return PackedWeight(*call.weight, taps.count, taps.size, element / taps.size,
                        element % taps.size, result);
  };
  return ForEachQuantizedResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    int64_t sum = 0;
    ForEachTap(window, in, index, [&](int64_t tap, Sizes at, bool inside) {
      const int64_t first = kDepthwise ? index[1] : 0, end = kDepthwise ? index[1] + 1 : in[1];
      for (at[1] = first; at[1] < end; ++at[1]) {
        const int32_t x = inside ? At<uint8_t>(*call.input, at) : call.epilogue.input_zero_point;
        sum += x * weight_at(tap, at[1], index[1]);
      }
    });
    return sum;
  });
}

absl::Status RunQuantizedGroupedConv2d(KernelContext& context,
                                       const QuantizedGroupedConv2dCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const Sizes& in = call.input->sizes;
  const int64_t matrices = call.matrices(), taps = call.window.taps();
  const int64_t k = in[1] / matrices, n = call.out_channels / matrices;
  TensorView matrix = *call.weight;
  const int64_t matrix_bytes = matrix.numel() / matrices;
  return ForEachQuantizedResult(context, shape, call.epilogue, 1, [&](const Sizes& index) {
    const int64_t of = index[1] / n;
    matrix.data = call.weight->as<int8_t>() + of * matrix_bytes;
    int64_t sum = 0;
    ForEachTap(call.window, in, index, [&](int64_t tap, Sizes at, bool inside) {
      for (int64_t p = 0; p < k; ++p) {
        at[1] = of * k + p;
        const int32_t x = inside ? At<uint8_t>(*call.input, at) : call.epilogue.input_zero_point;
        sum += x * PackedWeight(matrix, taps, k, tap, p, index[1] % n);
      }
    });
    return sum;
  });
}

absl::Status RunQuantizedAdd(KernelContext& context,
                             const QuantizedAddCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  return ForEachPlace<uint8_t>(context, ToDims(call.a->sizes), [&](const Sizes& index) {
    const float y = RealNumber(call.a_scale, call.a_zero_point, At<uint8_t>(*call.a, index)) +
                    RealNumber(call.b_scale, call.b_zero_point, At<uint8_t>(*call.b, index));
    return static_cast<uint8_t>(QuantizedNumber(call.output, y));
  });
}

absl::Status RunLookup(KernelContext& context, const LookupCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  return ForEachPlace<uint8_t>(context, ToDims(call.input->sizes), [&](const Sizes& index) {
    const int64_t number = At<uint8_t>(*call.input, index);
    return At<uint8_t>(*call.table, {&number, 1});
  });
}

constexpr Kernel kKernels[] = {
    KernelRow<&RunQuantizedLinear>(
        "belay_cpu.quantized_linear.default",
        "input weight scales weight_sums bias out_features input_zero_point activation low high "
        "inner_scale inner_range output_scale output_range",
        "QuantizedLinearReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedConv2d<false>>(
        "belay_cpu.quantized_conv2d.default",
        "input weight scales weight_sums bias out_channels kernel_size stride padding dilation "
        "input_zero_point activation low high inner_scale inner_range output_scale output_range",
        "QuantizedConv2dReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedConv2d<true>>(
        "belay_cpu.quantized_depthwise_conv2d.default",
        "input weight scales weight_sums bias kernel_size stride padding dilation "
        "input_zero_point activation low high inner_scale inner_range output_scale output_range",
        "QuantizedDepthwiseConv2dReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedGroupedConv2d>(
        "belay_cpu.quantized_grouped_conv2d.default",
        "input weight scales weight_sums bias out_channels groups kernel_size stride padding "
        "dilation input_zero_point activation low high inner_scale inner_range output_scale "
        "output_range",
        "QuantizedGroupedConv2dReference", KernelEngine::kReference),
    KernelRow<&RunQuantizedAdd>(
        "belay_cpu.quantized_add.default",
        "a b a_scale a_zero_point b_scale b_zero_point output_scale output_range",
        "QuantizedAddReference", KernelEngine::kReference),
    KernelRow<&RunLookup>("belay_cpu.lookup.default", "input table", "LookupReference",
                          KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> ReferenceQuantized() { return kKernels; }

}  // namespace belay::cpu
