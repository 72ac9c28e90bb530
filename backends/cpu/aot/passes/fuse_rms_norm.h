#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_RMS_NORM_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_RMS_NORM_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// mul(x, rsqrt(add(mean(x * x, the last dimension), eps))) of float32, with x * x as a product or a
// power, becomes belay_cpu::rms_norm; a product of that alone with a tensor of the last dimension's size
// becomes its weight. Top graph only. `handles` must outlive the pass.
exir::Pass FuseRmsNorm(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_RMS_NORM_H_
