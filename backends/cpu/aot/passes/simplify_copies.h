#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Removes copies between what other passes fuse: a clone, conversion, expansion, reshape or
// permutation that gives what it gets goes, whatever the layouts, since AssignLayouts copies where
// an operator needs another one. What is returned stays. Top graph only. `handles` must outlive the
// pass.
exir::Pass RemoveCopies(FusedHandles& handles);

// The same, and a permutation of a permutation becomes one, and so does a reshape of a reshape: for
// after those passes that recognize either.
exir::Pass SimplifyCopies(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
