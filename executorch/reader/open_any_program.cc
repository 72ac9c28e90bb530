#include "executorch/reader/open_any_program.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "executorch/reader/bundled_program.h"
#include "executorch/reader/data_file.h"
#include "executorch/reader/flat_file.h"
#include "runtime/core/annotate.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/parameters/parameters.h"
#include "runtime/program/metadata_path.h"

namespace belay::pte {
namespace {

// Adds the tensors of a .ptd file, or of a parameter file.
absl::Status AddParameterFile(const std::string& path, const belay::Program::Options& options,
                              Parameters& parameters) {
  ABSL_ASSIGN_OR_RETURN(
      std::shared_ptr<const MappedFile> file,
      MappedFile::Open(path, {.access = options.access, .max_bytes = options.limits.file_bytes}));
  if (!IsDataFile(file->bytes())) return parameters.AddFile(path, options);
  if (options.verifier != nullptr) {
    ABSL_RETURN_IF_ERROR(options.verifier->VerifyFile(path, file->bytes()));
  }
  DataFiles data;
  const absl::Span<const std::byte> bytes = file->bytes();
  const absl::Status status = data.Add(file, bytes, options.limits);
  if (!status.ok()) return Annotate(status, path);
  for (const auto& [key, entry] : data.entries()) {
    if (!entry.layout.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected only tensors, the data ", Quoted(key), " has no layout"));
    }
    ABSL_RETURN_IF_ERROR(parameters.Add(key,
                                        {.dtype = entry.layout->dtype,
                                         .sizes = entry.layout->sizes,
                                         .dim_order = entry.layout->dim_order,
                                         .bytes = entry.bytes.first(entry.layout->bytes),
                                         .source = path},
                                        file));
  }
  return absl::OkStatus();
}

}  // namespace

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
  const auto parameters = std::make_shared<Parameters>();
  for (const std::string& file : options.data_files) {
    ABSL_RETURN_IF_ERROR(AddParameterFile(file, options.program, *parameters));
  }
  return parameters->Open(path, options.program);
}

absl::StatusOr<belay::Program> OpenAnyProgramBytes(absl::Span<const std::byte> file,
                                                   const belay::Program::Options& options,
                                                   const DelegateConverter& convert_delegates) {
  return IsExecuTorchProgram(file)
             ? OpenProgramBytes(nullptr, file, DataFiles(), options, convert_delegates)
             : belay::Program::OpenBytes(nullptr, file, options);
}

}  // namespace belay::pte
