// Data movement on Highway copies: views and their copies, joins, pieces, conversions of dtype and
// dim order, constant padding, selection of slices, gathering. All dtypes; results have the bits of
// the reference kernels, whose texts they share (runtime/kernels/call/*_kernels.h): only what
// moves the elements is another.
#ifndef BELAY_RUNTIME_KERNELS_MOVEMENT_MOVEMENT_H_
#define BELAY_RUNTIME_KERNELS_MOVEMENT_MOVEMENT_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

absl::Span<const Kernel> MovementKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_MOVEMENT_MOVEMENT_H_
