#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ATTENTION_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ATTENTION_H_

#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/pass_diagnostics.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Fuses decomposed attention into belay_cpu::attention:
//
//   scores  = bmm(query, permute(key)) [+ masks], or where(condition, scores, -inf)
//   weights = where(all of a row of scores is -inf, 0, softmax(scores)), or softmax(scores)
//   bmm(weights, value)
//
// Reshapes of the leading dimensions and scalar factors may occur at any point; without a mask,
// also around the softmax only. Keys and values may be repeated for the heads that share them.
//
// Rows that are all -inf are NaN with plain softmax, and zeros with the selection (nan_rows of
// belay_cpu::attention).
//
// Several masks are added first; masks that are added under a reshape of the leading dimensions are
// reshaped. A mask where(condition, 0, -inf) becomes its condition. A causal mask, from constants
// or index comparisons, becomes is_causal; it may also have the lowest finite value in place of
// -inf.
//
// Conversions between float32 and bfloat16 or float16, as WidenProducts emits them, may also occur
// at any point. Everything then computes in float32: queries and a mask of other dtypes are widened
// first, keys and values by the operator, or first if their dtypes differ; scores and weights are
// not rounded any more.
//
// The result may be quantized (quantize_per_tensor) before it is reshaped.
//
// Not fused: weights with other users, matmuls of other dtypes than float32, a number of heads
// known only at run time. Top graph only. `handles` must outlive the pass; so must `diagnostics`,
// which may be null.
exir::Pass FuseAttention(FusedHandles& handles, PassDiagnostics* diagnostics = nullptr);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_ATTENTION_H_
