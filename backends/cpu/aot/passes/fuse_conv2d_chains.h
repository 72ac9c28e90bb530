#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_CONV2D_CHAINS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_CONV2D_CHAINS_H_

#include "backends/cpu/aot/decisions.h"
#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// belay_cpu::depthwise_conv2d, and conv2d with windows of one pixel, one behind the other become one
// belay_cpu::conv2d_chain, which keeps a few rows of each result in between, where such a result
// would not stay in the second-level cache until it is read: at 512 KiB. Same bits.
//
// A result in between has one reader. Images are channels last (after AssignLayouts) of known sizes;
// no stage makes them larger. A product's weight has at most 256 KiB, since all of it meets every few
// rows. At most four stages have windows of more than a row: at the borders of the threads' parts
// their rows are computed twice. Top graph only. `handles` and `decisions`, null for nobody who asks,
// must outlive the pass.
exir::Pass FuseConv2dChains(FusedHandles& handles, Decisions* decisions = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_CONV2D_CHAINS_H_
