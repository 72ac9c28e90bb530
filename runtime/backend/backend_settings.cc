#include "runtime/backend/backend_settings.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"

namespace belay {

absl::StatusOr<BackendSettings> BackendSettings::Create(const BackendRegistry& backends,
                                                        const BackendOptions& given) {
  BackendOptions values;
  for (const auto& [id, options] : given) {
    const BackendRuntime* backend = backends.Find(id);
    if (backend == nullptr) {
      const std::vector<std::string_view> ids = backends.Ids();
      const std::vector<std::string> known(ids.begin(), ids.end());
      return absl::InvalidArgumentError(absl::StrCat(
          "options of the backend '", Printable(id), "', which is not registered; registered are ",
          known.empty() ? "none" : absl::StrJoin(known, ", ")));
    }
    ABSL_ASSIGN_OR_RETURN(values[id], ResolveOptions(id, backend->options(), options));
  }
  return BackendSettings(std::move(values));
}

const OptionValues* BackendSettings::Find(std::string_view backend) const {
  const auto found = values_.find(backend);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace belay
