// Data movement with Highway copies: views and their copies, joins, splits, conversions of dtype
// and dim order, constant padding, index_select, gather. All dtypes. Results have the bits of the
// reference kernels. Both share runtime/kernels/operands/*_kernels.h and differ only in the functions
// that move elements.
#ifndef BELAY_RUNTIME_KERNELS_MOVEMENT_MOVEMENT_H_
#define BELAY_RUNTIME_KERNELS_MOVEMENT_MOVEMENT_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

absl::Span<const Kernel> MovementKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_MOVEMENT_MOVEMENT_H_
