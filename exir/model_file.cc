#include "exir/model_file.h"

#include <sys/stat.h>

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
  if (IsSavedPrograms(bytes)) return SavedMethodNames(path);
  const absl::StatusOr<Container> container =
      Container::Open(Storage{std::move(file), bytes}, ImportOptions());
  if (!container.ok()) return Annotate(Printable(container.status()), path);
  return container->model_names();
}

uint64_t SizeOfFile(const std::string& path) {
  struct stat info;
  const bool is_file = ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  return is_file ? static_cast<uint64_t>(info.st_size) : 0;
}

absl::StatusOr<ExportedProgram> ModelReader::Import(const std::string& path,
                                                    const ImportOptions& options) {
  auto saved = saved_.find(path);
  if (saved == saved_.end()) {
    ABSL_ASSIGN_OR_RETURN(const bool is_saved, IsSavedProgramsFile(path));
    if (!is_saved) return ImportFile(path, ops_, options);
    ABSL_ASSIGN_OR_RETURN(MethodPrograms methods, ReadSavedPrograms(path, ops_));
    saved = saved_.emplace(path, std::move(methods)).first;
  }
  const MethodPrograms& methods = saved->second;
  if (options.model_name.empty() && methods.size() == 1) return methods[0].second.Clone();
  std::vector<std::string> names;
  for (const auto& [name, program] : methods) {
    if (name == options.model_name) return program.Clone();
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
