#include <vector>

#include "backends/cpu/runtime/cpu_runtime.h"

namespace belay::cpu {

std::vector<const BackendRuntime*> RuntimesOver(const KernelRegistry& kernels);

std::vector<const BackendRuntime*> RuntimesOver(const KernelRegistry& kernels) {
  return {new CpuRuntime(kernels)};
}

}  // namespace belay::cpu
