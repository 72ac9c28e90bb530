#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_CONTIGUOUS_RESULTS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_CONTIGUOUS_RESULTS_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Lets a convolution write its result in contiguous layout if its only user copies it to that
// layout:
//
//   y {channels last} = conv2d(...)                  y = conv2d(...)
//   z = _to_dim_order_copy(y, dim_order=[0,1,2,3])   ->
//   z = squeeze_copy(y, 2)                           ->  z = squeeze_copy(y, 2)   (moves no data)
//
// A reshape that is an output keeps its copy, since outputs have memory of their own.
//
// For conv2d, depthwise_conv2d, and convolution that is not transposed, without `other`. Runs after
// AssignLayouts. Top graph only. `handles` must outlive the pass.
exir::Pass ContiguousResults(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_CONTIGUOUS_RESULTS_H_
