#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_CONV2D_CHAINS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_CONV2D_CHAINS_H_

#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/pass_diagnostics.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Fuses consecutive belay_cpu::depthwise_conv2d and 1x1 conv2d into one belay_cpu::conv2d_chain,
// which keeps only a few rows of each intermediate result. Applies if an intermediate result
// exceeds 512 KiB, so that it would leave the L2 cache before it is used. Bit-identical results.
//
// Requirements: an intermediate result has one user; images are channels last (after AssignLayouts)
// with known sizes; no stage enlarges them, or has results of fewer than 8 rows. The weight of a
// 1x1 stage has at most 256 KiB, since it is reread for every few rows. At most four stages have
// windows of more than one row, since their rows at thread boundaries are computed twice.
//
// Top graph only. `handles` must outlive the pass; so must `diagnostics`, which may be null.
exir::Pass FuseConv2dChains(FusedHandles& handles, PassDiagnostics* diagnostics = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_CONV2D_CHAINS_H_
