#include "tools/belay/backend_options.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backends/runtime_backends.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/printing.h"

namespace belay::tools {

absl::StatusOr<BackendSettings> ParseBackendOptions(const std::vector<std::string>& assignments) {
  BackendOptions options;
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    const size_t dot = assignment.substr(0, equals).find('.');
    if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot + 1 == equals) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--backend-option: expected BACKEND.OPTION=VALUE, got '", OneLine(assignment), "'"));
    }
    const std::string id = assignment.substr(0, dot),
                      name = assignment.substr(dot + 1, equals - dot - 1);
    const BackendRuntime* backend = RuntimeBackends().Find(id);
    if (backend == nullptr) {
      std::vector<std::string> known;
      for (const std::string_view one : RuntimeBackends().Ids()) known.emplace_back(one);
      return absl::InvalidArgumentError(
          absl::StrCat("--backend-option: unknown backend '", OneLine(id),
                       "'; expected one of: ", absl::StrJoin(known, ", ")));
    }
    ABSL_ASSIGN_OR_RETURN(OptionValue value,
                          ParseOption(id, backend->options(), name, assignment.substr(equals + 1)));
    if (!options[id].emplace(name, std::move(value)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--backend-option: '", id, ".", name, "' is given twice"));
    }
  }
  return BackendSettings::Create(RuntimeBackends(), options);
}

absl::Status CheckBackendsAreUsed(const BackendSettings& settings, const Program& program) {
  std::set<std::string> used;
  for (const MethodPlan& method : program.methods()) {
    for (const DelegatePlan& delegate : method.delegates) used.insert(delegate.backend_id);
  }
  for (const auto& [backend, values] : settings.values()) {
    if (used.contains(backend)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--backend-option: the program has no delegate of the backend '", backend,
        "'; it has delegates of ", used.empty() ? "none" : OneLine(absl::StrJoin(used, ", "))));
  }
  return absl::OkStatus();
}

Option BackendOptionFlag(std::vector<std::string>* assignments) {
  return {"--backend-option",
          assignments,
          "BACKEND.OPTION=VALUE, such as cpu.threads=1 (repeatable); 'belay backends' lists them",
          {.repeatable = true}};
}

}  // namespace belay::tools
