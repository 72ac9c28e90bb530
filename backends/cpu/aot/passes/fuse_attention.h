#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ATTENTION_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ATTENTION_H_

#include "backends/cpu/aot/decisions.h"
#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Attention as it is decomposed becomes belay_cpu::attention:
//
//   bmm(weights, value)
//   weights = where(all of a row of scores is -inf, 0, softmax(scores)), or softmax(scores)
//   scores = bmm(query, permute(key)) + mask, or without a mask
//
// with reshapes of the dimensions before the last two and factors that are numbers wherever they may
// stand, and keys and values that are repeated for the heads that share them. Softmax alone gives
// NaN where all of a row is -inf, and belay_cpu::attention zeros: it is taken without a mask, and
// with one that is never -inf (a constant, or a choice between numbers).
//
// Conversions between float32 and bfloat16 or float16 may stand anywhere as well, as WidenProducts leaves
// them: all is float32 then, and queries, keys, values and a mask of other dtypes are widened before it,
// so that scores and weights are rounded no more.
//
// Left as it is: weights that somebody else reads, products of other dtypes than float32, a number of
// heads that only the program's run tells. Top graph only. `handles` and `decisions`, null for nobody who asks,
// must outlive the pass.
exir::Pass FuseAttention(FusedHandles& handles, Decisions* decisions = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ATTENTION_H_
