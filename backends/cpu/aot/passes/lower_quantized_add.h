#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_QUANTIZED_ADD_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_QUANTIZED_ADD_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Fuses quantize(dequantize(a) + dequantize(b)), all uint8 of one shape, into
// belay_cpu::quantized_add. The sum has no other user. Runs after SimplifyQuantization, which folds
// a clamp in between into the quantization. Not lowered: sums with alpha and sums that broadcast.
// Top graph only. `handles` must outlive the pass.
exir::Pass LowerQuantizedAdd(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_QUANTIZED_ADD_H_
