// What the quantized kernels of this folder do to sums of integers before they store them.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_H_
#define BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_H_

#include <cstdint>
#include <limits>

#include "runtime/kernels/packed/epilogue.h"

namespace belay {

// Of a sum of products of a column (or channel) j, which is exact as long as it fits int32 and wraps
// beyond:
//
//   y = activation(float(sum - input_zero_point * weight_sums[j]) * scale[j] + bias[j])
//   y = clamp(y, low, high)
//   y = (clamp(round(y * inner_inverse_scale) + inner_zero_point, inner_quant_min, inner_quant_max)
//        - inner_zero_point) * inner_scale                               where it `rounds`
//   q = clamp(round(y * inverse_scale) + zero_point, quant_min, quant_max)
//
// in float32, each operation rounded by itself, ties to even: what the operators between a
// dequantize and a quantize compute (quantized_decomposed, whose kernel also multiplies by the
// inverse), but for the sum, which is theirs without their rounding. Without an activation all
// instruction sets give the same bits. A y that is NaN, which takes a scale or bias that is not
// finite, is quantized as minus infinity would be. What rounds is a quantize and a dequantize between
// the operator and the next quantize.
struct QuantizedEpilogue {
  const float* scale = nullptr;          // of the input times that of the weight; one per column
  const float* bias = nullptr;           // one per column; null for none
  const int32_t* weight_sums = nullptr;  // over all rows; null when input_zero_point is 0
  int32_t input_zero_point = 0;          // 0 to 255
  Activation activation = Activation::kNone;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  // The inner quantization, in the form of the output's below.
  bool rounds = false;
  float inner_inverse_scale = 1, inner_scale = 1;
  int32_t inner_zero_point = 0, inner_quant_min = 0, inner_quant_max = 255;
  // Whether the result is q as uint8, or y as float32.
  bool quantizes = false;
  float inverse_scale = 1;  // positive, finite
  // 0 <= quant_min <= zero_point <= quant_max <= 255.
  int32_t zero_point = 0, quant_min = 0, quant_max = 255;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_PACKED_REQUANTIZE_H_
