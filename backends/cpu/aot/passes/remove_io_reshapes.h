#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_RESHAPE_BORDERS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_RESHAPE_BORDERS_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Removes reshapes of inputs and outputs, which would copy: the caller has their memory. The program
// then has other sizes at its border than the call, with the same elements in the same order, which
// OpenProgramDelegate accepts.
//
//   f(unsqueeze_copy(x), …)   ->  f(x, …)       if all users of x reshape it to the same sizes
//   return squeeze_copy(y)    ->  return y      if y is contiguous
//                                 return _to_dim_order_copy(y, dim_order=[0,1,…])    otherwise
//
// For user inputs and outputs of known sizes; reshaped inputs are contiguous and used by the top
// graph only. Runs before ContiguousResults, which removes the conversion. `handles` must outlive
// the pass.
exir::Pass ReshapeBorders(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_RESHAPE_BORDERS_H_
