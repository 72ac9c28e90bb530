#include "runtime/program/program.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/metadata_path.h"
#include "runtime/program/program_parts.h"
#include "runtime/program/program_validator.h"

namespace belay {
namespace {

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : absl::StrCat(path.substr(0, slash), "/");
}

}  // namespace

absl::StatusOr<Program> Program::Open(const std::string& path, const Options& options) {
  ABSL_ASSIGN_OR_RETURN(
      std::shared_ptr<const MappedFile> file,
      MappedFile::Open(path, {.access = options.access, .max_bytes = options.limits.file_bytes}));
  Options resolved = options;
  if (resolved.companion_root.empty()) resolved.companion_root = DirectoryOf(path);
  const absl::Span<const std::byte> bytes = file->bytes();
  absl::StatusOr<Program> program =
      ProgramValidator::Validate(std::move(file), bytes, resolved, path);
  if (program.ok()) return program;
  return Annotate(program.status(), path);
}

absl::StatusOr<Program> Program::OpenBytes(std::shared_ptr<const void> owner,
                                           absl::Span<const std::byte> bytes,
                                           const Options& options) {
  return ProgramValidator::Validate(std::move(owner), bytes, options, /*path=*/"");
}

absl::StatusOr<Program> Program::FromParts(ProgramParts parts, const Limits& limits) {
  const Limits of_file = LimitsOfFile(limits, parts.file.size());
  return ProgramValidator::Validate(std::move(parts), of_file);
}

absl::StatusOr<const MethodPlan*> Program::FindMethod(std::string_view name) const {
  const auto it = std::lower_bound(
      methods_.begin(), methods_.end(), name,
      [](const MethodPlan& method, std::string_view n) { return method.name < n; });
  if (it != methods_.end() && it->name == name) return &*it;
  std::vector<std::string> names;
  for (const MethodPlan& method : methods_) names.push_back(Quoted(method.name));
  return absl::NotFoundError(absl::StrCat("unknown method ", Quoted(name), "; the program has: ",
                                          names.empty() ? "none" : ListFirst(names, ", ")));
}

absl::StatusOr<absl::Span<const std::byte>> Program::FindNamedData(std::string_view key) const {
  const NamedDataPlan* found = belay::FindNamedData(named_data_, key);
  if (found != nullptr) return found->bytes;
  return absl::NotFoundError(absl::StrCat("no named data ", Quoted(key), " in the program"));
}

}  // namespace belay
