#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_RMS_NORM_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_RMS_NORM_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Fuses float32 RMS norms:
//
//   x * rsqrt(mean(x^2, last dimension) + eps)      ->  rms_norm(x, eps)
//   x * rsqrt(mean(x^2, last dimension) + eps) * w  ->  rms_norm(x, w, eps)
//
// x^2 is x * x or a power; w has the size of the last dimension. Top graph only. `handles` must
// outlive the pass.
exir::Pass FuseRmsNorm(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_RMS_NORM_H_
