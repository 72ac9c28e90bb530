// `belay inspect`: what is in an archive or a program file.
#include <string>

#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/command.h"
#include "tools/belay/inspect_archive.h"
#include "tools/belay/inspect_program.h"
#include "tools/belay/program_file.h"

namespace belay::tools {
namespace {

absl::StatusOr<bool> IsProgram(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  return IsProgramFile(file->bytes());
}

}  // namespace

int Inspect(const InspectOptions& options) {
  const WithinLimits limits(options.limits, {options.file});
  const absl::StatusOr<bool> is_program = IsProgram(options.file);
  if (!is_program.ok()) return Report(is_program.status());
  return Report(*is_program ? InspectProgram(options) : InspectArchive(options));
}

Command InspectCommand() {
  const auto inspect = std::make_shared<InspectOptions>();
  return {
      .name = "inspect",
      .about =
          "Shows what is in an archive (.pt2), saved programs (.bir) or a program file (.belay, "
          ".pte).",
      .options = WithLimits(
          {{"file", &inspect->file, "the file", {.required = true}},
           DataOption(&inspect->data),
           {"--json", &inspect->json, "prints JSON"},
           {"--graph", &inspect->graph,
            "prints an archive's programs in text form, or a program file's values and "
            "instructions"},
           {"--size", &inspect->size, "accounts for every byte of the file"},
           {"--verify", &inspect->verify,
            "checks the digest of every segment of a program file, or the checksum of every "
            "entry of an archive"}},
          &inspect->limits),
      .footer =
          "All models of an archive are shown; exit status 4 when one is of a version that can't "
          "be\n"
          "imported.\n"
          "Example: belay inspect model.belay --size",
      .owned = inspect,
      .run = [inspect] { return Inspect(*inspect); },
  };
}

}  // namespace belay::tools
