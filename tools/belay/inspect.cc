// `belay inspect`: prints the content of an archive or a program file.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/event_dump.h"
#include "runtime/core/mapped_file.h"
#include "tools/belay/command.h"
#include "tools/belay/inspect_archive.h"
#include "tools/belay/inspect_events.h"
#include "tools/belay/inspect_program.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/same_file.h"

namespace belay::tools {
namespace {

// Returns an error in the combination of options, or "".
std::string Problem(const InspectOptions& options) {
  std::vector<std::string> read = options.data;
  read.push_back(options.file);
  for (const std::string& written : {options.model_explorer, options.dot}) {
    for (const std::string& file : read) {
      if (!IsSameFile(written, file)) continue;
      return absl::StrCat("the graph would overwrite the input file ", OneLine(file));
    }
  }
  if (!IsSameFile(options.model_explorer, options.dot)) return "";
  return absl::StrCat("--model-explorer and --dot would write to the same file, ",
                      OneLine(options.dot));
}

}  // namespace

int Inspect(const InspectOptions& options) {
  const WithinLimits limits(options.limits, {options.file});
  const auto file = MappedFile::Open(options.file);
  if (!file.ok()) return Report(file.status());
  if (pte::IsEventDump((*file)->bytes())) return Report(InspectEvents(options));
  return Report(IsProgramFile((*file)->bytes()) ? InspectProgram(options)
                                                : InspectArchive(options));
}

Command InspectCommand() {
  const auto inspect = std::make_shared<InspectOptions>();
  return {
      .name = "inspect",
      .about =
          "Prints the content of an archive (.pt2), of saved programs (.bir), of a program file "
          "(.belay, .pte) or of profiling events (.etdp).",
      .options = WithLimits(
          {{"file", &inspect->file, "the file", {.required = true}},
           DataOption(&inspect->data),
           {"--json", &inspect->json, "prints JSON"},
           {"--graph", &inspect->graph,
            "prints an archive's programs in text form, or a program file's values and "
            "instructions"},
           {"--model-explorer",
            &inspect->model_explorer,
            "writes the graphs for Google's Model Explorer to this file (JSON)",
            {.not_empty = true}},
           {"--dot",
            &inspect->dot,
            "writes the graphs for Graphviz to this file (DOT)",
            {.not_empty = true}},
           {"--size", &inspect->size, "prints the size of every part of the file"},
           {"--verify", &inspect->verify,
            "checks the digest of every segment of a program file, or the checksum of every "
            "entry of an archive"}},
          &inspect->limits),
      .footer =
          "Shows all models of an archive; exit status 4 if one is of a version that can't be\n"
          "imported.\n"
          "Example: belay inspect model.belay --size\n"
          "         belay inspect model.pt2 --model-explorer model.json --dot model.dot",
      .owned = inspect,
      .run = [inspect] { return Inspect(*inspect); },
      .problem = [inspect] { return Problem(*inspect); },
  };
}

}  // namespace belay::tools
