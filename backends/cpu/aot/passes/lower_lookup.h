#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LOOKUP_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LOOKUP_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Replaces pointwise operators between a dequantized uint8 tensor and its quantization with
// belay_cpu::lookup. The tensor is their only input except scalars, as for sigmoid or a decomposed
// hardswish. The table is emitted as the same operators on a constant of the 256 byte values, which
// PropagateConstants evaluates.
//
// Not lowered: operators whose results have other users or are not float32 of the tensor's sizes,
// and more than 16 operators. Top graph only. `handles` must outlive the pass.
exir::Pass LowerLookup(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LOOKUP_H_
