#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Removes copies between what other passes fuse:
//
//   a clone, conversion, expansion, reshape or permutation that gives what it gets goes, whatever
//   the layouts: AssignLayouts copies where an operator needs another one
//   a permutation of a permutation is one, and so is a reshape of a reshape
//
// What is returned stays. Top graph only. `handles` must outlive the pass.
exir::Pass SimplifyCopies(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
