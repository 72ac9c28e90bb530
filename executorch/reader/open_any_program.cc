#include "executorch/reader/open_any_program.h"

#include "absl/strings/str_cat.h"
#include "executorch/reader/bundled_program.h"
#include "executorch/reader/data_file.h"
#include "executorch/reader/flat_file.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"

namespace belay::pte {

bool IsExecuTorchProgram(absl::Span<const std::byte> file) {
  return IsProgramFile(file) || IsBundledProgram(file);
}

absl::StatusOr<bool> IsProgramFileAt(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  return IsExecuTorchProgram(file->bytes());
}

absl::StatusOr<belay::Program> OpenAnyProgram(const std::string& path, const OpenOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const bool is_pte, IsProgramFileAt(path));
  if (is_pte) return OpenProgram(path, options);
  if (options.data_files.empty()) return belay::Program::Open(path, options.program);
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": data files are for ExecuTorch programs (.pte); Belay's name their companion files"));
}

absl::StatusOr<belay::Program> OpenAnyProgramBytes(absl::Span<const std::byte> file,
                                                   const belay::Program::Options& options,
                                                   const DelegateConverter& convert_delegates) {
  return IsExecuTorchProgram(file)
             ? OpenProgramBytes(nullptr, file, DataFiles(), options, convert_delegates)
             : belay::Program::OpenBytes(nullptr, file, options);
}

}  // namespace belay::pte
