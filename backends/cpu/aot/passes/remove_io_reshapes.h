#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_REMOVE_IO_RESHAPES_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_REMOVE_IO_RESHAPES_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Removes reshapes of inputs and outputs, which would copy, since the caller owns their memory. An
// input or output of the program then has other sizes than that of the call, but the same elements
// in the same order. OpenProgramDelegate (runtime/executor/program_delegate.h) accepts this.
//
//   f(unsqueeze_copy(x), …)   ->  f(x, …)       if all users of x reshape it to the same sizes
//   return squeeze_copy(y)    ->  return y      if y is contiguous
//                                 return _to_dim_order_copy(y, dim_order=[0,1,…])    otherwise
//
// For user inputs and outputs of fixed sizes. Reshaped inputs are contiguous and used by the top
// graph only. Runs before ContiguousResults, which removes the copy. `handles` must outlive the
// pass.
exir::Pass RemoveIoReshapes(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_REMOVE_IO_RESHAPES_H_
