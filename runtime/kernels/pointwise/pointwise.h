// Pointwise Highway kernels: unary, binary and ternary operators on every layout, with broadcasting
// and type promotion, in float16, bfloat16, float32, int8, uint8, int32, int64 and bool, and
// arithmetic and comparisons in float64.
//
// Results are those of the reference kernels within the ULP that kernels.inc names, after rounding
// to the result's dtype; 0 means the same bits (but for which NaN a NaN is). They do not depend on
// where an element stands, and on the instruction set only within those bounds.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// The rows of kernels.inc.
absl::Span<const Kernel> PointwiseKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_H_
