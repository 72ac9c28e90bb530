// All kernels and backends, with the interface of belay_runtime's generated header.
#ifndef BELAY_TOOLS_SIZE_ALL_REGISTRIES_H_
#define BELAY_TOOLS_SIZE_ALL_REGISTRIES_H_

#include "backends/runtime_backends.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"

namespace application {

inline const belay::KernelRegistry& Kernels() {
  static const belay::KernelRegistry& registry = *[] {
    auto* all = new belay::KernelRegistry;
    ABSL_CHECK(belay::AddStandardKernels(*all).ok());
    return all;
  }();
  return registry;
}
inline const belay::BackendRegistry& Backends() { return belay::RuntimeBackends(); }

}  // namespace application

#endif  // BELAY_TOOLS_SIZE_ALL_REGISTRIES_H_
