#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_INSTANCE_NORM_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_INSTANCE_NORM_H_

#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Instance norms decompose to batch norms of one sample with its own statistics. These become group
// norms with a group per channel, which have a kernel for channels last images:
//
//   y = batch_norm(x [1, c, ...], weight, bias, training=True, eps)
//     ->  y = group_norm(x, weight, bias, N=1, C=c, HxW=..., group=c, eps)
//
// Not lowered: other dtypes than float32, inputs of unknown sizes or without elements, and batch
// norms whose saved statistics have users. Top graph only. O(nodes).
exir::Pass LowerInstanceNorm();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_LOWER_INSTANCE_NORM_H_
