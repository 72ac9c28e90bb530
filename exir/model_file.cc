#include "exir/model_file.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/import/container.h"
#include "exir/serialize/saved_programs.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/printable.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

absl::StatusOr<bool> IsSavedProgramsFile(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  return IsSavedPrograms(file->bytes());
}

absl::StatusOr<std::vector<std::string>> ModelNames(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file->bytes();
  std::vector<std::string> names;
  if (IsSavedPrograms(bytes)) {
    ABSL_ASSIGN_OR_RETURN(const SavedProgramsInfo info, InspectSavedPrograms(path));
    for (const auto& [name, text_bytes] : info.methods) names.push_back(name);
    return names;
  }
  const absl::StatusOr<Container> container =
      Container::Open(Storage{std::move(file), bytes}, ImportOptions());
  if (!container.ok()) return Annotate(Printable(container.status()), path);
  return container->model_names();
}

absl::StatusOr<ExportedProgram> ImportModel(const std::string& path, const OpRegistry& ops,
                                            const ImportOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const bool saved, IsSavedProgramsFile(path));
  if (!saved) return ImportFile(path, ops, options);
  ABSL_ASSIGN_OR_RETURN(MethodPrograms methods, ReadSavedPrograms(path, ops));
  if (options.model_name.empty() && methods.size() == 1) return std::move(methods[0].second);
  std::vector<std::string> names;
  for (auto& [name, program] : methods) {
    if (name == options.model_name) return std::move(program);
    names.push_back(absl::StrCat("'", name, "'"));
  }
  return absl::NotFoundError(absl::StrCat(path, ": no method '", options.model_name,
                                          "' was saved, there is ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<ArchiveInfo> InspectModelFile(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const bool saved, IsSavedProgramsFile(path));
  if (!saved) return InspectArchiveFile(path);
  ABSL_ASSIGN_OR_RETURN(const SavedProgramsInfo saved_info, InspectSavedPrograms(path));
  ArchiveInfo info;
  info.file_bytes = saved_info.file_bytes;
  for (const auto& [name, text_bytes] : saved_info.methods) {
    ArchiveInfo::Model& model = info.models.emplace_back();
    model.name = name;
    model.era = "saved programs";
    info.entries.push_back({absl::StrCat("text of ", name), text_bytes, text_bytes});
  }
  for (size_t i = 0; i < saved_info.storages.size(); ++i) {
    const uint64_t bytes = saved_info.storages[i];
    info.entries.push_back({absl::StrCat("storage#", i), bytes, bytes});
  }
  return info;
}

}  // namespace belay::exir
