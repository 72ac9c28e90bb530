// Run-time entry point that a belay_backend_set (bazel/defs.bzl) requires.
#include <vector>

#include "npu_runtime.h"

namespace belay::npu {

std::vector<const BackendRuntime*> Runtimes();

std::vector<const BackendRuntime*> Runtimes() {
  static const auto& runtime = *new ::npu::NpuRuntime;
  return {&runtime};
}

}  // namespace belay::npu
