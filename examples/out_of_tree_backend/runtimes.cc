// What a belay_backend_set (bazel/defs.bzl) looks for on the device's side.
#include <vector>

#include "npu_runtime.h"

namespace belay::npu {

std::vector<const BackendRuntime*> Runtimes();

std::vector<const BackendRuntime*> Runtimes() {
  static const auto& runtime = *new ::npu::NpuRuntime;
  return {&runtime};
}

}  // namespace belay::npu
