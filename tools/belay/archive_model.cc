#include "tools/belay/archive_model.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/model_file.h"
#include "runtime/core/annotate.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"

namespace belay::tools {

ArchiveModel ParseArchiveModel(const std::string& text) {
  const size_t colon = text.rfind(':');
  std::error_code ignored;
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size() ||
      std::filesystem::exists(text, ignored)) {
    return {text, ""};
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

absl::StatusOr<ArchiveModel> ChooseModel(const std::string& text, const std::string& method) {
  ArchiveModel chosen = ParseArchiveModel(text);
  ABSL_ASSIGN_OR_RETURN(const std::vector<std::string> names, exir::ModelNames(chosen.path));
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (chosen.model.empty() && names.size() == 1) return chosen;
  std::vector<std::string> wanted = {chosen.model};
  if (chosen.model.empty()) wanted = {method};
  if (chosen.model.empty() && method == "forward") wanted.push_back("model");
  for (const std::string& name : wanted) {
    if (has(name)) return ArchiveModel{chosen.path, name};
  }
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(Quoted(name));
  return Annotate(absl::NotFoundError(absl::StrCat("the archive has no model ", Quoted(wanted[0]),
                                                   "; the archive has: ", ListFirst(shown, ", "),
                                                   "; select one with FILE:MODEL")),
                  chosen.path);
}

}  // namespace belay::tools
