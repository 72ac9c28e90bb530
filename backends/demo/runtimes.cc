#include <vector>

#include "backends/demo/demo_runtime.h"

namespace belay::demo {

std::vector<const BackendRuntime*> Runtimes();

std::vector<const BackendRuntime*> Runtimes() {
  static const DemoRuntime& runtime = *new DemoRuntime;
  return {&runtime};
}

}  // namespace belay::demo
