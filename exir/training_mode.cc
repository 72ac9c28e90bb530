#include "exir/training_mode.h"

#include "absl/strings/str_cat.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {
namespace {

bool IsTraining(const Node& node) {
  const bool* drops = node.argument("train").get_if<bool>();
  if (drops != nullptr && *drops) return true;
  // A batch norm without statistics uses those of the batch, also for inference.
  const bool* updates = node.argument("training").get_if<bool>();
  return updates != nullptr && *updates && node.value_argument("running_mean") != nullptr;
}

}  // namespace

std::vector<std::string> NotesOnTraining(const MethodPrograms& methods) {
  std::vector<std::string> notes;
  for (const auto& [name, program] : methods) {
    size_t count = 0;
    const Node* first = nullptr;
    for (const Graph& graph : program.graphs) {
      for (const NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (!IsTraining(node)) continue;
        if (first == nullptr) first = &node;
        ++count;
      }
    }
    if (first == nullptr) continue;
    const std::string source = first->provenance.ToString();
    notes.push_back(absl::StrCat("method '", name, "' was exported in training mode: '",
                                 first->name, "'", source.empty() ? "" : " at ", source,
                                 count == 1 ? "" : absl::StrCat(" and ", count - 1, " more"),
                                 " change from call to call; for inference, export model.eval()"));
  }
  return notes;
}

}  // namespace belay::exir
