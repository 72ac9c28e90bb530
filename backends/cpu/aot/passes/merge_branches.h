#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_MERGE_BRANCHES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_MERGE_BRANCHES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Merges sums of branches that are linear in the same input into one convolution, as in models that
// are trained with parallel branches (RepVGG, MobileOne, RepMixer):
//
//   conv(x, v, b) + conv(x, w, c)         ->  conv(x, v + w at its taps, b + c)
//   conv(x, v, b) + batch_norm(x)         ->  conv(x, v + diag(factor) at tap 0, b + shift)
//   conv(x, v, b) + x, v is depthwise     ->  conv(x, v + 1 at tap 0, b)
//
// likewise differences, in both orders. The convolutions have any rank and the same stride and groups, and
// are not transposed. The window of one contains all taps of the other: a 1x1 convolution without padding
// is the center of a 3x3 convolution with padding 1. Sums of more branches are merged one by one.
//
// Requirements: float32; constant operands with static sizes; the branches, and the weights of
// convolutions, have no other users; a batch norm has finite terms (batch_norm_terms.h).
//
// Weights are summed in double and rounded once. For |x| <= m and a kernel that accumulates within c, the
// error is at most (2^-24 + c) * (m * sum|weight'| + |bias'|): no more than that of the branches, since
// sum|weight'| <= sum|v| + sum|w|. O(nodes + elements of the merged weights).
exir::Pass MergeBranches(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_MERGE_BRANCHES_H_
