// The set of backends that programs may use: a value that is passed in.
#ifndef BELAY_RUNTIME_BACKEND_BACKEND_REGISTRY_H_
#define BELAY_RUNTIME_BACKEND_BACKEND_REGISTRY_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/backend/backend_runtime.h"

namespace belay {

// Thread-compatible; const use is thread-safe. Backends are referenced and must outlive the
// registry.
class BackendRegistry {
 public:
  // kAlreadyExists if a backend with this id was added.
  absl::Status Add(const BackendRuntime* backend);
  const BackendRuntime* Find(std::string_view id) const;  // nullptr when unknown
  std::vector<std::string_view> Ids() const;              // sorted

 private:
  std::vector<const BackendRuntime*> backends_;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_BACKEND_REGISTRY_H_
