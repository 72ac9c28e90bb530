#include <vector>

#include "backends/null/null_runtime.h"

namespace belay::null {

std::vector<const BackendRuntime*> Runtimes();

std::vector<const BackendRuntime*> Runtimes() {
  static const NullRuntime& runtime = *new NullRuntime;
  return {&runtime};
}

}  // namespace belay::null
