#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_QUANTIZATION_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_QUANTIZATION_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Brings quantize_per_tensor close to what computes its input, and dequantizations close to what
// reads them, so that what lies between moves bytes, and little is left to compute:
//
//   int8 tensors that are only dequantized           are uint8: 128 more, and so their zero point
//   quantize of a clamp                              quantizes to a narrower range
//   quantize of what moves elements, pads them with  comes before it
//     a number, or takes maxima by a window
//   quantize of what was dequantized in the same     goes; if it has the narrower range, that of
//     way                                            the one before becomes so
//   dequantize before what moves elements, or takes  comes behind it; per channel only before
//     maxima by a window                             permutations
//
// All of this is exact, since quantizing is monotone, but for NaN, which no quantized number is.
// What is moved over has no other reader. Left as it is: parameters that QuantizedForms does not
// take, and maxima with dilation or whose places are read. Top graph only. `handles` must outlive
// the pass.
exir::Pass SimplifyQuantization(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_QUANTIZATION_H_
