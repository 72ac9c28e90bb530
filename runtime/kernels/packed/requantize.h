// Quantized epilogues: operations on integer accumulators before they are stored.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_H_

#include <cstdint>
#include <limits>

#include "runtime/kernels/packed/epilogue.h"

namespace belay {

// Epilogue of a sum of products of column (or channel) j. The sum is exact as long as it fits
// int32, and wraps beyond:
//
//   y = activation(float(sum - input_zero_point * weight_sums[j]) * scale[j] + bias[j])
//   y = clamp(y, low, high)
//   y = (clamp(round(y * inner_inverse_scale) + inner_zero_point, inner_quant_min, inner_quant_max)
//        - inner_zero_point) * inner_scale                               if `rounds`
//   q = clamp(round(y * inverse_scale) + zero_point, quant_min, quant_max)
//
// Computed in float32; each operation is rounded separately, ties to even. The operators between a
// dequantize and a quantize compute the same (quantized_decomposed, whose kernel also multiplies by
// the inverse). Only the sum differs: it is exact here and rounded there.
//
// Without scales, the result is sum - input_zero_point * weight_sums[j] as int32.
//
// Without an activation, all instruction sets give the same bits. A NaN y, which requires a
// nonfinite scale or bias, is quantized as minus infinity. `rounds` represents a quantize and a
// dequantize between the operator and the final quantize.
struct QuantizedEpilogue {
  const float* scale = nullptr;          // input scale times weight scale; one per column; or null
  const float* bias = nullptr;           // one per column; null for none
  const int32_t* weight_sums = nullptr;  // over all rows; null when input_zero_point is 0
  int32_t input_zero_point = 0;          // 0 to 255
  Activation activation = Activation::kNone;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  // Inner quantization, with parameters as for the output's below.
  bool rounds = false;
  float inner_inverse_scale = 1, inner_scale = 1;
  int32_t inner_zero_point = 0, inner_quant_min = 0, inner_quant_max = 255;
  // Whether the result is q as uint8; else y as float32.
  bool quantizes = false;
  float inverse_scale = 1;  // positive, finite
  // 0 <= quant_min <= zero_point <= quant_max <= 255.
  int32_t zero_point = 0, quant_min = 0, quant_max = 255;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_H_
