#include "bazel/selected_registries.h"

#include <algorithm>

#include "runtime/core/status_macros.h"

namespace belay {

KernelRegistry SelectedRows(std::initializer_list<absl::Span<const Kernel>> tables) {
  KernelRegistry registry;
  for (const absl::Span<const Kernel> table : tables) {
    for (const Kernel& row : table) {
      if (!row.op.empty()) ABSL_CHECK(registry.Add({&row, 1}).ok());
    }
  }
  return registry;
}

BackendRegistry NamedBackends(std::initializer_list<std::string_view> ids,
                              std::initializer_list<std::vector<const BackendRuntime*>> backends) {
  BackendRegistry registry;
  for (const std::vector<const BackendRuntime*>& of_one : backends) {
    for (const BackendRuntime* backend : of_one) {
      if (std::find(ids.begin(), ids.end(), backend->id()) == ids.end()) continue;
      ABSL_CHECK(registry.Add(backend).ok());
    }
  }
  return registry;
}

}  // namespace belay
