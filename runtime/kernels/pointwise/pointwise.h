// Pointwise Highway kernels: unary, binary and ternary operators on every layout, with broadcasting
// and type promotion. Dtypes: float16, bfloat16, float32, float64, int8, uint8, int32, int64 and bool.
//
// Results match the reference kernels within the ULP that kernels.inc lists, after rounding to the
// result's dtype. 0 means the same bits, except for NaN payloads. Results do not depend on the
// position of an element. They depend on the instruction set only within those bounds.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Rows of kernels.inc.
absl::Span<const Kernel> PointwiseKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_
