#include "backends/runtime_backends.h"

#include <vector>

#include "absl/base/attributes.h"
#include "runtime/core/status_macros.h"

namespace belay {

#define BELAY_BACKEND(name)                      \
  namespace name {                               \
  std::vector<const BackendRuntime*> Runtimes(); \
  }
#include "backends/backend_list.inc"
#undef BELAY_BACKEND

ABSL_ATTRIBUTE_WEAK std::vector<const BackendRuntime*> MoreRuntimes() { return {}; }

const BackendRegistry& RuntimeBackends() {
  static const BackendRegistry& registry = *[] {
    auto* result = new BackendRegistry;
#define BELAY_BACKEND(name) \
  for (const BackendRuntime* backend : name::Runtimes()) ABSL_CHECK(result->Add(backend).ok());
#include "backends/backend_list.inc"
#undef BELAY_BACKEND
    for (const BackendRuntime* backend : MoreRuntimes()) ABSL_CHECK(result->Add(backend).ok());
    return result;
  }();
  return registry;
}

}  // namespace belay
