#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_EPILOGUES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_EPILOGUES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// What alone reads the result of a belay_cpu operator with an epilogue becomes part of it, as often
// as the epilogue has room (backends/cpu/calls.h and quantized_calls.h), in this order:
//
//   a constant that is added along the channels     the bias, of an operator without one
//   an activation (ActivationForms)                 unless something stands behind it already
//   a tensor of the same sizes that is added        before an activation or a clamp
//   a tensor of the same sizes that is multiplied   unless one was added, or behind a clamp
//   relu, clamp, hardtanh                           the bounds, of several their composition
//
// and of a quantized operator, which takes no tensors,
//
//   quantize_per_tensor to uint8                    the output's quantization
//   dequantize_per_tensor behind that               makes it the inner one; another may come
//
// The operator then stands where the last of them stood. Of two operators whose results are added,
// the later one takes the sum. Top graph only. `handles` must outlive the pass.
exir::Pass FuseEpilogues(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_EPILOGUES_H_
