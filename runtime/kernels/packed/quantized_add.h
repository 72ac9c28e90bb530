// Addition of two quantized arrays.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_ADD_H_
#define BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_ADD_H_

#include <cstddef>
#include <cstdint>
#include <limits>

namespace belay {

//   y = clamp((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale, low, high)
//   q = clamp(round(y * inverse_scale) + zero_point, quant_min, quant_max)
// Computed in float32; each operation is rounded separately, ties to even. A NaN y is quantized as
// minus infinity. All instruction sets and ranges give the same bits.
struct QuantizedAddArgs {
  const uint8_t *a = nullptr, *b = nullptr;
  uint8_t* out = nullptr;  // may be `a` or `b`
  float a_scale = 1, b_scale = 1;
  int32_t a_zero_point = 0, b_zero_point = 0;  // 0 to 255
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  // As in QuantizedEpilogue (requantize.h).
  float inverse_scale = 1;
  int32_t zero_point = 0, quant_min = 0, quant_max = 255;
};

// Computes elements [first, last).
void QuantizedAdd(const QuantizedAddArgs& args, size_t first, size_t last);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_QUANTIZED_ADD_H_
