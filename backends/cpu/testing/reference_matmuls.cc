// Reference kernels of linear layers and of tables with packed weights.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/dynamic_calls.h"
#include "backends/cpu/embedding_calls.h"
#include "backends/cpu/testing/reference_elements.h"
#include "backends/cpu/testing/reference_tables.h"
#include "backends/cpu/weight_only_calls.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel_arguments.h"

namespace belay::cpu {
namespace {

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

absl::Status RunWeightOnlyLinear(KernelContext& context,
                                 const WeightOnlyLinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last], group = std::max<int64_t>(call.group, 1);
  const int64_t groups = (k + group - 1) / group;
  return ForEachResult(
      context, shape, call.epilogue, static_cast<size_t>(last), [&](const Sizes& index) {
        const int64_t j = index[last], panel = j / kPanelColumns;
        Sizes at = index;
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          at[last] = p;
          double number = PackedNumber(*call.weight, call.format->format, k, p, j);
          const int64_t of = (panel * groups + p / group) * kPanelColumns + j % kPanelColumns;
          if (call.zeros != nullptr) number -= call.zeros->as<const float>()[of];
          if (call.scales != nullptr) number *= call.scales->as<const float>()[of];
          sum += At(*call.input, at) * number;
        }
        return sum;
      });
}

absl::Status RunBFloat16Linear(KernelContext& context,
                               const BFloat16LinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last];
  return ForEachResult<BFloat16>(context, shape, call.epilogue, static_cast<size_t>(last),
                                 [&](const Sizes& index) {
                                   Sizes at = index;
                                   double sum = 0;
                                   for (at[last] = 0; at[last] < k; ++at[last]) {
                                     sum += static_cast<float>(At<BFloat16>(*call.input, at)) *
                                            PairElement(*call.weight, k, at[last], index[last]);
                                   }
                                   return sum;
                                 });
}

// Element p of row `row` of a table, as packed for its linear layer, without zero point and scale.
double TableNumber(const PackedEmbeddingCall<KernelArguments>& call, int64_t row, int64_t p) {
  const TensorView& weight = *call.weight;
  const int64_t k = call.features, panel = row / kPanelColumns, column = row % kPanelColumns;
  if (const auto format = call.layout->weight_format) {
    return PackedNumber(weight, *format, k, p, row);
  }
  if (call.layout->layout == TableLayout::kFloat32) {
    return weight.as<const float>()[(panel * k + p) * kPanelColumns + column];
  }
  if (call.layout->layout == TableLayout::kVnni2) {
    const int64_t pair = panel * (k / 2) + p / 2;
    return BFloat16BitsToFloat(
        weight.as<const uint16_t>()[(pair * kPanelColumns + column) * 2 + p % 2]);
  }
  return PackedWeight(weight, 1, k, 0, p, row);
}

absl::Status RunPackedEmbedding(KernelContext& context,
                                const PackedEmbeddingCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.indices->rank();
  const int64_t group = std::max<int64_t>(call.group, 1);
  const int64_t groups = (call.features + group - 1) / group;
  const auto element = [&](const Sizes& index) {
    const absl::Span<const int64_t> at = absl::MakeConstSpan(index).first(last);
    const int64_t row = call.indices->dtype == DType::kInt32 ? At<int32_t>(*call.indices, at)
                                                             : At<int64_t>(*call.indices, at);
    const auto number = static_cast<float>(TableNumber(call, row, index[last]));
    if (call.scales == nullptr) return number;
    const int64_t of =
        (row / kPanelColumns * groups + index[last] / group) * kPanelColumns + row % kPanelColumns;
    const float zero = call.zeros == nullptr ? 0 : call.zeros->as<const float>()[of];
    return (number - zero) * call.scales->as<const float>()[of];
  };
  if (call.layout->result == DType::kFloat32) return ForEachPlace<float>(context, shape, element);
  return ForEachPlace<BFloat16>(context, shape,
                                [&](const Sizes& index) { return BFloat16(element(index)); });
}

// Element i of a tensor of scalars, or its only element.
template <class T, class U>
double NumberAt(const TensorView& numbers, int64_t i) {
  if (numbers.numel() == 1) i = 0;
  return numbers.dtype == DTypeOf<T> ? static_cast<double>(numbers.as<const T>()[i])
                                     : static_cast<double>(numbers.as<const U>()[i]);
}

// Scale and zero point of row `row` of the input.
struct DynamicParameters {
  double scale = 1, zero = 0;
};
DynamicParameters ParametersOf(const DynamicQuantizedLinearCall<KernelArguments>& call,
                               int64_t row) {
  if (!call.Quantizes()) {
    return {NumberAt<float, double>(*call.input_scales, row),
            call.input_zeros->dtype == DType::kInt8
                ? NumberAt<int8_t, int8_t>(*call.input_zeros, row)
                : NumberAt<int32_t, int64_t>(*call.input_zeros, row)};
  }
  const int64_t k = call.input->sizes[call.input->rank() - 1];
  const float* x = call.input->as<const float>() + row * k;
  float low = 0, high = 0;
  for (int64_t p = 0; p < k; ++p) {
    low = std::min(low, x[p]);
    high = std::max(high, x[p]);
  }
  const float scale = std::max((high - low) / 255, std::numeric_limits<float>::epsilon());
  const float from_low = -128 - low / scale, from_high = 127 - high / scale;
  const bool is_low = (-128 + low / scale) + (127 + high / scale) > 0;
  return {scale, std::nearbyint(std::clamp(is_low ? from_low : from_high, -128.0f, 127.0f))};
}

absl::Status RunDynamicQuantizedLinear(KernelContext& context,
                                       const DynamicQuantizedLinearCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> shape, call.Shape());
  const int last = call.input->rank() - 1;
  const int64_t k = call.input->sizes[last], group = call.group;
  const int64_t groups = (k + group - 1) / group;
  const bool is_int4 = call.format->format == WeightFormat::kInt4;
  return ForEachResult(
      context, shape, call.epilogue, static_cast<size_t>(last), [&](const Sizes& index) {
        const int64_t j = index[last], panel = j / kPanelColumns;
        int64_t row = 0;
        for (int d = 0; d < last; ++d) row = row * call.input->sizes[d] + index[d];
        const DynamicParameters parameters = ParametersOf(call, row);
        Sizes at = index;
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          at[last] = p;
          const double number = is_int4 ? PackedNumber(*call.weight, WeightFormat::kInt4, k, p, j)
                                        : PackedWeight(*call.weight, 1, k, 0, p, j);
          double x = 0;
          if (call.Quantizes()) {
            const double rounded =
                std::nearbyint(At<float>(*call.input, at) * (1 / parameters.scale));
            x = std::clamp(rounded + parameters.zero, -128.0, 127.0);
          } else {
            x = call.input->dtype == DType::kInt8 ? At<int8_t>(*call.input, at)
                                                  : At<uint8_t>(*call.input, at);
          }
          const int64_t of = (panel * groups + p / group) * kPanelColumns + j % kPanelColumns;
          const float scale = call.scales->dtype == DType::kBFloat16
                                  ? float{call.scales->as<const BFloat16>()[of]}
                                  : call.scales->as<const float>()[of];
          sum += (x - parameters.zero) * number * scale;
        }
        return sum * parameters.scale;
      });
}

constexpr Kernel kKernels[] = {
    KernelRow<&RunLinear>("belay_cpu.linear.default",
                          "input weight bias other out_features activation combine low high",
                          "LinearReference", KernelEngine::kReference),
    KernelRow<&RunWeightOnlyLinear>("belay_cpu.weight_only_linear.default",
                                    "input weight scales zeros bias other out_features format "
                                    "group activation combine low high",
                                    "WeightOnlyLinearReference", KernelEngine::kReference),
    KernelRow<&RunDynamicQuantizedLinear>(
        "belay_cpu.dynamic_quantized_linear.default",
        "input input_scales input_zeros weight scales weight_sums bias other out_features format "
        "group activation combine low high",
        "DynamicQuantizedLinearReference", KernelEngine::kReference),
    KernelRow<&RunPackedEmbedding>("belay_cpu.packed_embedding.default",
                                   "weight scales zeros indices rows features layout group",
                                   "PackedEmbeddingReference", KernelEngine::kReference),
    KernelRow<&RunBFloat16Linear>(
        "belay_cpu.bfloat16_linear.default",
        "input weight bias other out_features activation combine low high",
        "BFloat16LinearReference", KernelEngine::kReference),
};

}  // namespace

absl::Span<const Kernel> ReferenceMatmuls() { return kKernels; }

}  // namespace belay::cpu
