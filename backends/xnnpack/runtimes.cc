#include <vector>

#include "backends/xnnpack/xnnpack_runtime.h"

namespace belay::xnnpack {

std::vector<const BackendRuntime*> Runtimes();

std::vector<const BackendRuntime*> Runtimes() {
  static const XnnpackRuntime& runtime = *new XnnpackRuntime;
  return {&runtime};
}

}  // namespace belay::xnnpack
