#include "backends/cpu/kernels/cpu_kernels.h"

#include "runtime/core/status_macros.h"

namespace belay::cpu {

absl::Status AddCpuKernels(KernelRegistry& registry) {
  for (const absl::Span<const Kernel> kernels :
       {LinearKernels(), Conv2dKernels(), AttentionKernels()}) {
    ABSL_RETURN_IF_ERROR(registry.Add(kernels));
  }
  return absl::OkStatus();
}

}  // namespace belay::cpu
