// Kernel of zoo::scaled_swish.
#ifndef SCALED_SWISH_KERNEL_H_
#define SCALED_SWISH_KERNEL_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace custom_operator {

// x * sigmoid(x * scale), for KernelRegistry::Add: float32, x and result row-major.
absl::Span<const belay::Kernel> ScaledSwishKernels();

}  // namespace custom_operator

#endif  // SCALED_SWISH_KERNEL_H_
