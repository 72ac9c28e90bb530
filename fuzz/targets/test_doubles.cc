#include "fuzz/targets/test_doubles.h"

#include "runtime/core/status_macros.h"
#include "runtime/executor/testing/fake_backend.h"
#include "runtime/executor/testing/test_kernels.h"

namespace belay::fuzz {

const KernelRegistry& KernelDoubles() {
  static const KernelRegistry& kernels = *[] {
    auto* registry = new KernelRegistry;
    ABSL_CHECK(registry->Add(TestKernels()).ok());
    return registry;
  }();
  return kernels;
}

const BackendRegistry& BackendDoubles() {
  static const BackendRegistry& backends = *[] {
    auto* registry = new BackendRegistry;
    ABSL_CHECK(registry->Add(new FakeBackend).ok());
    return registry;
  }();
  return backends;
}

}  // namespace belay::fuzz
