#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Removes clones, conversions, expansions, reshapes and permutations that return their input
// unchanged, so that other passes see through them. Layouts are ignored, since AssignLayouts
// inserts copies where an operator needs another one. Copies that are graph outputs stay. Top graph
// only. `handles` must outlive the pass.
exir::Pass RemoveCopies(FusedHandles& handles);

// RemoveCopies, and merges a permutation of a permutation, and a reshape of a reshape, into one.
// Runs after the passes that match either.
exir::Pass SimplifyCopies(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_SIMPLIFY_COPIES_H_
