// Reference kernels of the CPU backend's operators: plain loops over doubles or integers.
#ifndef BELAY_BACKENDS_CPU_TESTING_REFERENCE_KERNELS_H_
#define BELAY_BACKENDS_CPU_TESTING_REFERENCE_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay::cpu {

// One row per operator of belay_cpu::*, with KernelEngine::kReference. Tensors may have any
// strides.
absl::Span<const Kernel> CpuReferenceKernels();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_TESTING_REFERENCE_KERNELS_H_
