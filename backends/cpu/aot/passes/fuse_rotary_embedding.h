#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ROTARY_EMBEDDING_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ROTARY_EMBEDDING_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Fuses rotations of float32 rows x with halves a and b into belay_cpu::rotary_embedding:
//   cat(a * cosine - b * sine, a * sine + b * cosine)
//   x * cosine + cat(-b, a) * sine, with cosine and sine of full rows
// Factors and addends may be in either order; halves may be split or sliced. Top graph only.
// `handles` must outlive the pass.
exir::Pass FuseRotaryEmbedding(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ROTARY_EMBEDDING_H_
