#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Removes clones, conversions, expansions, permutations and chains of reshapes that return their
// input unchanged, so that other passes see through them. Layouts are ignored, since AssignLayouts
// inserts copies where an operator needs another one. Copies that are graph outputs stay. Top graph
// only. `handles` must outlive the pass.
exir::Pass RemoveCopies(FusedHandles& handles);

// RemoveCopies, and merges a permutation of a permutation, and a reshape of a reshape, into one.
// Permutations move to the side of a reshape that has more dimensions, where they often move no
// data:
//
//   view(permute(x [n, h * w, c]), [n, c, h, w])  ->  permute(view(x, [n, h, w, c]), [0, 3, 1, 2])
//   permute(view(y [n, c, h, w], [n, c, h * w]))  ->  view(permute(y, [0, 2, 3, 1]), [n, h * w, c])
//
// Runs after the passes that match either.
exir::Pass SimplifyCopies(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
