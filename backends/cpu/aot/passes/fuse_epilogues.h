#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_EPILOGUES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_EPILOGUES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Fuses the sole consumer of a belay_cpu operator with an epilogue into it, repeatedly, while the
// epilogue has free slots (backends/cpu/calls.h and quantized_calls.h):
//
//   add of a constant along the channels   becomes the bias, if the operator has none
//   an activation (ActivationForms)        unless an activation, multiplication or clamp is fused
//   add of a tensor of the same sizes      before any activation, multiplication or clamp
//   mul by a tensor of the same sizes      unless a tensor was added or a clamp is fused
//   relu, clamp, hardtanh                  become the bounds; several are composed
//
// Quantized operators have no `other`. They also fuse
//
//   quantize_per_tensor to uint8           the output quantization
//   dequantize_per_tensor after it         turns it into the inner one; another may follow
//
// The operator moves to the position of the last fused node. If two operators' results are added,
// the later operator fuses the sum. Top graph only. `handles` must outlive the pass.
exir::Pass FuseEpilogues(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_EPILOGUES_H_
