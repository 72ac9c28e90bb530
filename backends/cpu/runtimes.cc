#include <vector>

#include "backends/cpu/kernels/cpu_kernels.h"
#include "backends/cpu/runtime/cpu_runtime.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::cpu {

std::vector<const BackendRuntime*> Runtimes();

std::vector<const BackendRuntime*> Runtimes() {
  static const CpuRuntime& runtime = *[] {
    auto* kernels = new KernelRegistry;
    ABSL_CHECK(AddStandardKernels(*kernels).ok());
    ABSL_CHECK(AddCpuKernels(*kernels).ok());
    return new CpuRuntime(*kernels);
  }();
  return {&runtime};
}

}  // namespace belay::cpu
