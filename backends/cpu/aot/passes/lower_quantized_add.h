#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_QUANTIZED_ADD_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_QUANTIZED_ADD_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// A sum of two dequantized uint8 tensors of one shape that is only quantized again, to uint8,
// becomes belay_cpu::quantized_add. For after SimplifyQuantization, which makes a clamp in between
// part of the quantization. Left as they are: sums with alpha, and of tensors that broadcast. Top
// graph only. `handles` must outlive the pass.
exir::Pass LowerQuantizedAdd(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_QUANTIZED_ADD_H_
