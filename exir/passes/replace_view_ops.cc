#include "exir/passes/replace_view_ops.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"

namespace belay::exir {
namespace {

// "aten.view.dtype" → "aten.view_copy.dtype"; nullptr when there is none with the same arguments.
const OpOverload* CopyTwin(const OpRegistry& ops, const OpOverload* view) {
  const OpOverload* twin =
      ops.Find(absl::StrCat(std::string(view->ns()), ".", std::string(view->op()), "_copy.",
                            std::string(view->overload())));
  if (twin == nullptr || twin->schema() == nullptr ||
      twin->schema()->arguments.size() != view->schema()->arguments.size()) {
    return nullptr;
  }
  return twin;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  std::vector<std::string> missing;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const OpOverload* target = graph.node(id).target;
      if (target->schema() == nullptr || !target->schema()->IsView()) continue;
      const OpOverload* twin = CopyTwin(*program.ops, target);
      if (twin == nullptr) {
        missing.push_back(DescribeNode(graph, id));
        continue;
      }
      editor.SetTarget(id, twin);
      changed = true;
    }
  }
  if (!missing.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("view operators without a copying twin:\n  ", absl::StrJoin(missing, "\n  ")));
  }
  return changed;
}

}  // namespace

Pass ReplaceViewOps() { return {"replace_view_ops", Run}; }

}  // namespace belay::exir
