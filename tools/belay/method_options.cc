#include "tools/belay/method_options.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/model_file.h"
#include "exir/serialize/saved_programs.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/utf8.h"
#include "tools/belay/archive_model.h"
#include "tools/belay/printing.h"

namespace belay::tools {

absl::StatusOr<std::vector<std::string>> SavedMethods(const std::string& file) {
  const absl::StatusOr<bool> saved = exir::IsSavedProgramsFile(file);
  if (!saved.ok() || !*saved) return std::vector<std::string>();
  return exir::ModelNames(file);
}

absl::StatusOr<std::vector<MethodOption>> MethodsOf(const std::string& command,
                                                    const std::string& input,
                                                    const std::vector<std::string>& options,
                                                    const std::vector<std::string>& saved) {
  std::vector<MethodOption> methods;
  for (const std::string& name : saved) {
    methods.push_back({name, absl::StrCat(input, ":", name)});
  }
  if (saved.empty() && !input.empty()) methods.push_back({"forward", input});
  for (const std::string& text : options) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--method: expected NAME=FILE, got '", OneLine(text), "'"));
    }
    MethodOption method{text.substr(0, equals), text.substr(equals + 1)};
    if (!IsUtf8(method.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--method: the name in '", OneLine(text), "' is not UTF-8"));
    }
    const bool again = std::any_of(methods.begin(), methods.end(),
                                   [&](const auto& m) { return m.name == method.name; });
    if (again) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the method '", OneLine(method.name), "' is given twice",
          input.empty() || method.name != "forward" ? "" : "; the unnamed archive is 'forward'"));
    }
    methods.push_back(std::move(method));
  }
  if (methods.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(command, " needs an archive, or --method NAME=FILE"));
  }
  return methods;
}

absl::StatusOr<std::vector<exir::MethodArchive>> ChooseModels(
    const std::vector<MethodOption>& methods) {
  std::vector<exir::MethodArchive> archives;
  for (const MethodOption& method : methods) {
    ABSL_ASSIGN_OR_RETURN(ArchiveModel chosen, ChooseModel(method.archive, method.name));
    archives.push_back({method.name, std::move(chosen.path), std::move(chosen.model)});
  }
  return archives;
}

}  // namespace belay::tools
