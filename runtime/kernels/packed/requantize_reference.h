// For tests: scalar implementation of requantize.h.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_REFERENCE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/kernels/packed/requantize.h"

namespace belay {

// Returns y of a sum of column j, before the clamp and without an activation.
inline float RealSum(const QuantizedEpilogue& e, int64_t sum, size_t j) {
  if (e.weight_sums != nullptr) sum -= int64_t{e.input_zero_point} * e.weight_sums[j];
  const float product = static_cast<float>(static_cast<int32_t>(sum)) * e.scale[j];
  return product + (e.bias == nullptr ? 0.0f : e.bias[j]);
}

inline float ClampedReal(float y, float low, float high) {
  return std::isnan(y) ? y : std::min(high, std::max(low, y));
}

// Applies the clamp, and the inner quantization if there is one.
inline float FinishedReal(const QuantizedEpilogue& e, float y) {
  y = ClampedReal(y, e.low, e.high);
  if (!e.rounds) return y;
  if (std::isnan(y)) y = -std::numeric_limits<float>::infinity();
  const double q = std::nearbyint(double{y * e.inner_inverse_scale}) + e.inner_zero_point;
  const double number = std::min<double>(e.inner_quant_max, std::max<double>(e.inner_quant_min, q));
  return static_cast<float>(number - e.inner_zero_point) * e.inner_scale;
}
template <class Params>
float FinishedReal(const Params& p, float y) {
  return ClampedReal(y, p.low, p.high);
}

// Returns q of an unclamped y. Params: QuantizedEpilogue or QuantizedAddArgs.
template <class Params>
uint8_t QuantizedReal(const Params& p, float y) {
  if (std::isnan(y)) y = -std::numeric_limits<float>::infinity();
  const float x = FinishedReal(p, y) * p.inverse_scale;
  const double q = std::nearbyint(double{x}) + p.zero_point;
  return static_cast<uint8_t>(
      std::min(static_cast<double>(p.quant_max), std::max(static_cast<double>(p.quant_min), q)));
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_REFERENCE_H_
