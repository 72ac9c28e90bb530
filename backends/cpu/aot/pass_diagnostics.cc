#include "backends/cpu/aot/pass_diagnostics.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace belay::cpu {

void PassDiagnostics::RecordRewrite(std::string_view node, std::string text) {
  rewrites_.emplace_back(node, std::move(text));
}

void PassDiagnostics::RecordMiss(std::string_view node, std::string reason) {
  misses_.insert_or_assign(std::string(node), std::move(reason));
}

std::string PassDiagnostics::Text(const exir::ExportedProgram& program) const {
  std::string text;
  for (const auto& [node, what] : rewrites_) absl::StrAppend(&text, node, ": ", what, "\n");
  for (exir::NodeId id : program.top().nodes()) {
    const exir::Node& node = program.top().node(id);
    const auto it = misses_.find(node.name);
    // A node that became an operator of the backend was not missed.
    if (it == misses_.end() || node.target->ns() == "belay_cpu") continue;
    absl::StrAppend(&text, node.name, ": ", node.target->text_name(), " not lowered: ", it->second,
                    "\n");
  }
  return text;
}

std::string BytesText(int64_t bytes) {
  constexpr int64_t kKibibyte = 1024;
  if (bytes < 10 * kKibibyte) return absl::StrCat(bytes, bytes == 1 ? " byte" : " bytes");
  return absl::StrCat(bytes / kKibibyte, " KiB");
}

}  // namespace belay::cpu
