#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_QUANTIZATION_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_QUANTIZATION_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Moves quantize_per_tensor next to the producer of its input and dequantizations next to their
// users, so that operators in between move bytes:
//
//   int8 tensors that are only moved            become uint8: 128 is added, also to the zero point
//     and dequantized
//   other int8 operands of matmuls and          become uint8: dequantized and quantized again
//     convolutions with a quantized weight
//   quantize(clamp(x))                          quantize to a narrower range
//   quantize of data movement, scalar padding,  moves before it
//     or max_pool2d
//   quantize(dequantize(q)), same parameters    is removed; q's quantize gets the narrower range
//   dequantize before data movement or          moves after it; per channel only over permutations
//     max_pool2d
//
// All of this is exact, since quantizing is monotone, except for NaN, which has no quantized value.
// The operator that is moved over has no other user. Unchanged: parameters that QuantizedForms does
// not support, and max pools with dilation or used indices. Top graph only. `handles` must outlive
// the pass.
exir::Pass SimplifyQuantization(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_QUANTIZATION_H_
