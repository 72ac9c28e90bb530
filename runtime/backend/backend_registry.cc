#include "runtime/backend/backend_registry.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"

namespace belay {

absl::Status BackendRegistry::Add(const BackendRuntime* backend) {
  if (Find(backend->id()) != nullptr) {
    return absl::AlreadyExistsError(
        absl::StrCat("a backend '", backend->id(), "' is registered already"));
  }
  backends_.push_back(backend);
  return absl::OkStatus();
}

const BackendRuntime* BackendRegistry::Find(std::string_view id) const {
  for (const BackendRuntime* backend : backends_) {
    if (backend->id() == id) return backend;
  }
  return nullptr;
}

std::vector<std::string_view> BackendRegistry::Ids() const {
  std::vector<std::string_view> ids;
  for (const BackendRuntime* backend : backends_) ids.push_back(backend->id());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace belay
