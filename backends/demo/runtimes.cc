#include <vector>

#include "backends/demo/demo_runtime.h"
#include "backends/demo/executor_runtime.h"
#include "backends/demo/executorch_runtimes.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/standard_kernels.h"

namespace belay::demo {

std::vector<const BackendRuntime*> Runtimes();

// A blob of ExecutorBackend may contain another one, which may not: three nested programs.
std::vector<const BackendRuntime*> Runtimes() {
  static const std::vector<const BackendRuntime*>& runtimes = *[] {
    auto* result = new std::vector<const BackendRuntime*>{
        new DemoRuntime,
        new CompilerDemoRuntime,
        new DelegateMappingDemoRuntime,
        new NamedDataDemoRuntime,
        new PreprocessAllDemoRuntime("FirstBackendWithPreprocessAll"),
        new PreprocessAllDemoRuntime("SecondBackendWithPreprocessAll")};
    auto* kernels = new KernelRegistry;
    ABSL_CHECK(AddStandardKernels(*kernels).ok());
    auto* innermost = new BackendRegistry;
    for (const BackendRuntime* runtime : *result) ABSL_CHECK(innermost->Add(runtime).ok());
    auto* inner = new BackendRegistry(*innermost);
    ABSL_CHECK(inner->Add(new ExecutorRuntime(*kernels, *innermost)).ok());
    result->push_back(new ExecutorRuntime(*kernels, *inner));
    return result;
  }();
  return runtimes;
}

}  // namespace belay::demo
