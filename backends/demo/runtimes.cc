#include <vector>

#include "backends/demo/demo_runtime.h"
#include "backends/demo/founding_runtimes.h"

namespace belay::demo {

std::vector<const BackendRuntime*> Runtimes();

std::vector<const BackendRuntime*> Runtimes() {
  static const DemoRuntime& runtime = *new DemoRuntime;
  static const CompilerDemoRuntime& compiler_demo = *new CompilerDemoRuntime;
  return {&runtime, &compiler_demo};
}

}  // namespace belay::demo
