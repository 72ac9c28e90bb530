#include "backends/cpu/aot/decisions.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace belay::cpu {

void Decisions::Made(std::string_view node, std::string text) {
  made_.emplace_back(node, std::move(text));
}

void Decisions::Left(std::string_view node, std::string reason) {
  left_.insert_or_assign(std::string(node), std::move(reason));
}

std::string Decisions::Text(const exir::ExportedProgram& program) const {
  std::string text;
  for (const auto& [node, what] : made_) absl::StrAppend(&text, node, ": ", what, "\n");
  for (exir::NodeId id : program.top().nodes()) {
    const exir::Node& node = program.top().node(id);
    const auto it = left_.find(node.name);
    // A node that became an operator of the backend was not missed.
    if (it == left_.end() || node.target->ns() == "belay_cpu") continue;
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
