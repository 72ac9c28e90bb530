// The CPU backend's operators in plain loops, over doubles or integers: what its kernels are
// compared with.
#ifndef BELAY_BACKENDS_CPU_TESTING_REFERENCE_KERNELS_H_
#define BELAY_BACKENDS_CPU_TESTING_REFERENCE_KERNELS_H_

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay::cpu {

// One row for each of belay_cpu::*, of KernelEngine::kReference. Tensors may have any strides.
absl::Span<const Kernel> CpuReferenceKernels();

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_TESTING_REFERENCE_KERNELS_H_
