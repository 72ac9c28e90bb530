#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_BATCH_NORM_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_BATCH_NORM_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Lowers float32 and bfloat16 batch norms with constant statistics whose sole user is elementwise,
// so that FusePointwise computes both in one pass:
//
//   y = batch_norm(x, weight, bias, mean, var, eps); relu(y)
//     ->  s = mul(x, f [c, 1, ...]); y = add(s, shift [c, 1, ...]); relu(y)
//   f = weight / sqrt(var + eps)    shift = bias - mean * f    computed in double, rounded once
//
// Those of bfloat16 become the same between conversions, so that the result is rounded once. Error
// before that: 3 * 2^-24 * (|x f| + |mean f| + |bias|). Not lowered: channels with |mean| above
// 16 * sqrt(var + eps), where x * f + shift would cancel; factors that float32 cannot represent;
// batch norms whose other results have users. Top graph only. O(nodes + channels).
exir::Pass LowerBatchNorm();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_BATCH_NORM_H_
