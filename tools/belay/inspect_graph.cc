#include "tools/belay/inspect_graph.h"

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "tools/belay/printing.h"
#include "tools/graph/dot.h"
#include "tools/graph/model_explorer.h"

namespace belay::tools {

bool WantsGraph(const InspectOptions& options) {
  return !options.model_explorer.empty() || !options.dot.empty();
}

absl::Status WriteGraphs(const InspectOptions& options, const DrawnProgram& program) {
  const std::string label = std::filesystem::path(options.file).filename().string();
  const auto write = [](const std::string& path, std::string_view content) {
    return WriteFileAtomically(path, absl::MakeConstSpan(&content, 1));
  };
  if (!options.model_explorer.empty()) {
    ABSL_RETURN_IF_ERROR(
        write(options.model_explorer, JsonText(ModelExplorerJson(label, program))));
  }
  if (!options.dot.empty()) ABSL_RETURN_IF_ERROR(write(options.dot, DotText(label, program)));
  return absl::OkStatus();
}

}  // namespace belay::tools
