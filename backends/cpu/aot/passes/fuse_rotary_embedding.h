#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ROTARY_EMBEDDING_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ROTARY_EMBEDDING_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Rotations of float32 rows in halves a and b of x become belay_cpu::rotary_embedding, as models write
// them:
//   cat(a * cosine - b * sine, a * sine + b * cosine)
//   x * cosine + cat(-b, a) * sine, cosine and sine of whole rows
// with factors and addends in either order, and halves split or sliced. Top graph only. `handles` must
// outlive the pass.
exir::Pass FuseRotaryEmbedding(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ROTARY_EMBEDDING_H_
