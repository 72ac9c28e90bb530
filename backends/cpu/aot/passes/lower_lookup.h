#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LOOKUP_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LOOKUP_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Pointwise operators between a dequantized uint8 tensor, the only one that they read beside
// numbers, and its quantization become belay_cpu::lookup, of a table of what they make of each of
// the 256 values of a byte: the same operators on a constant, for PropagateConstants to compute.
// Sigmoid, hardswish in its parts, and the like. Left as they are: operators whose results others
// read or that are not float32 of the tensor's sizes, and more than 16 of them. Top graph only.
// `handles` must outlive the pass.
exir::Pass LowerLookup(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_LOOKUP_H_
