// Elements of operands and results, for reference kernels.
#ifndef BELAY_BACKENDS_CPU_TESTING_REFERENCE_ELEMENTS_H_
#define BELAY_BACKENDS_CPU_TESTING_REFERENCE_ELEMENTS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/weight_only_calls.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernels/packed/exact_activation.h"
#include "runtime/kernels/packed/packed_weights.h"
#include "runtime/kernels/packed/quantized_weights.h"

namespace belay::cpu {

template <class T = float>
const T& At(const TensorView& tensor, absl::Span<const int64_t> index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides[d];
  return tensor.as<const T>()[offset];
}

// An element of float32, bfloat16 or float16.
inline float FloatAt(const TensorView& tensor, absl::Span<const int64_t> index) {
  if (tensor.dtype == DType::kBFloat16) return At<BFloat16>(tensor, index);
  if (tensor.dtype == DType::kFloat16) return At<Half>(tensor, index);
  return At(tensor, index);
}

// Applies the epilogue to a sum at `index` of the result. The bias runs along dimension `channels`.
// For bfloat16 every step rounds.
template <class T = float>
T Finish(const EpilogueCall<KernelArguments>& epilogue, double sum, absl::Span<const int64_t> index,
         size_t channels) {
  const auto round = [](double x) -> double {
    return std::is_same_v<T, float> ? x : static_cast<float>(T(static_cast<float>(x)));
  };
  if (epilogue.bias != nullptr) sum += At(*epilogue.bias, index.subspan(channels, 1));
  sum = round(sum);
  const double other =
      epilogue.other == nullptr ? 0 : static_cast<float>(At<T>(*epilogue.other, index));
  if (epilogue.other != nullptr && !epilogue.multiply) sum = round(sum + other);
  sum = round(ExactActivation(epilogue.activation, sum));
  if (epilogue.multiply && epilogue.other != nullptr) sum *= other;
  const auto result = static_cast<float>(sum);
  return T(std::isnan(result) ? result
                              : std::clamp(result, epilogue.bounds.low, epilogue.bounds.high));
}

// Stores value(index) at each index of the result.
template <class T, class Value>
absl::Status ForEachPlace(KernelContext& context, absl::Span<const CheckedInt> shape,
                          const Value& value) {
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(shape));
  ABSL_ASSIGN_OR_RETURN(TensorView* const output, context.Output(0, sizes));
  Sizes index(sizes.size(), int64_t{0});
  for (int64_t left = output->numel(); left > 0; --left) {
    const_cast<T&>(At<T>(*output, index)) = value(index);
    for (int d = sizes.size() - 1; d >= 0 && ++index[d] == sizes[d]; --d) index[d] = 0;
  }
  return absl::OkStatus();
}

// Calls `sum` for each index of the result and stores the sum after the epilogue.
template <class T = float, class Sum>
absl::Status ForEachResult(KernelContext& context, absl::Span<const CheckedInt> shape,
                           const EpilogueCall<KernelArguments>& epilogue, size_t channels,
                           Sum sum) {
  return ForEachPlace<T>(context, shape, [&](const Sizes& index) {
    return Finish<T>(epilogue, sum(index), index, channels);
  });
}

// Element (p, j) of packed weights with k rows, without zero point and scale.
inline double PackedNumber(const TensorView& weight, WeightFormat format, int64_t k, int64_t p,
                           int64_t j) {
  const int64_t block = j / kPanelColumns * ((k + 7) / 8) + p / 8;  // eight rows of a panel
  const int64_t row = p % 8, column = j % kPanelColumns;
  if (format == WeightFormat::kInt4) {
    const auto word = weight.as<const uint32_t>()[block * kPanelColumns + column];
    return static_cast<double>(word >> (4 * (row % 2 * 4 + row / 2)) & 15) - 8;
  }
  const int64_t at = (block * 8 + row) * kPanelColumns + column;
  if (format == WeightFormat::kInt8) return weight.as<const int8_t>()[at];
  return BFloat16BitsToFloat(weight.as<const uint16_t>()[at]);
}

// Calls visit(tap, position in the image, is inside) for each tap of the window at `index`.
template <class Visit>
void ForEachTap(const Window& window, const Sizes& image, const Sizes& index, const Visit& visit) {
  for (int64_t tap = 0; tap < window.taps(); ++tap) {
    const int64_t taps[] = {tap / window.kernel_size[1], tap % window.kernel_size[1]};
    Sizes at = index;
    bool inside = true;
    for (int s = 0; s < 2; ++s) {
      at[2 + s] =
          index[2 + s] * window.stride[s] - window.padding[s] + taps[s] * window.dilation[s];
      inside = inside && at[2 + s] >= 0 && at[2 + s] < image[2 + s];
    }
    visit(tap, at, inside);
  }
}

// Element (p, j) of a matrix with k rows in the VNNI-2 layout.
inline double PairElement(const TensorView& packed, int64_t k, int64_t p, int64_t j) {
  const int64_t pair = (j / kPanelColumns * (k / 2) + p / 2) * kPanelColumns + j % kPanelColumns;
  return static_cast<float>(packed.as<const BFloat16>()[2 * pair + p % 2]);
}

// Element (tap, p, j) of a packed matrix with k rows per tap.
inline int32_t PackedWeight(const TensorView& weight, int64_t taps, int64_t k, int64_t tap,
                            int64_t p, int64_t j) {
  constexpr int64_t kColumns = kQuantizedPanelColumns;
  const int64_t lines = (k + 3) / 4;
  const int64_t line = (j / kColumns * taps + tap) * lines + p / 4;
  return weight.as<const int8_t>()[line * 64 + j % kColumns * 4 + p % 4];
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_TESTING_REFERENCE_ELEMENTS_H_
