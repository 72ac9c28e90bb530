#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_GLU_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_GLU_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Gated linear units of tensors that no product of this graph computes read both halves in place:
//
//   a, b = split(x, [n, n], dim); mul(a, sigmoid(b))  ->  glu(x, dim)
//   to(glu(to(x, float32), dim), half)                ->  glu(x, dim), for x of this half dtype
//
// Conditions: a contiguous x of float32 and known sizes, and no other users. Images (rank 4) must be
// inputs of the graph, since others are mostly channels last. Runs after SplitProducts, which divides
// the products whose results are split. Top graph only. `handles` must outlive the pass. O(nodes).
exir::Pass FuseGlu(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_GLU_H_
