// `belay inspect`: what is in an archive or a program file.
#include <string_view>

#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/schema/file_format.h"
#include "tools/belay/command.h"
#include "tools/belay/inspect_archive.h"
#include "tools/belay/inspect_program.h"

namespace belay::tools {
namespace {

absl::StatusOr<bool> IsProgramFile(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()),
                               file->bytes().size());
  return bytes.substr(0, 5) == std::string_view(kMagic, 5);
}

}  // namespace

int Inspect(const InspectOptions& options) {
  const absl::StatusOr<bool> is_program = IsProgramFile(options.file);
  if (!is_program.ok()) return Report(is_program.status());
  return Report(*is_program ? InspectProgram(options) : InspectArchive(options));
}

}  // namespace belay::tools
