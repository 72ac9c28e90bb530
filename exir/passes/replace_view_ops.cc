#include "exir/passes/replace_view_ops.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/op_definition/op_variants.h"

namespace belay::exir {
namespace {

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  std::vector<std::string> missing;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const OpOverload* target = graph.node(id).target;
      if (target->schema() == nullptr || !target->schema()->IsView()) continue;
      const OpOverload* copy = ToViewCopy(*program.ops, target);
      if (copy == nullptr) {
        missing.push_back(DescribeNode(graph, id));
        continue;
      }
      editor.SetTarget(id, copy);
      changed = true;
    }
  }
  if (!missing.empty()) {
    return absl::UnimplementedError(absl::StrCat("view operators without a copying variant:\n  ",
                                                 absl::StrJoin(missing, "\n  ")));
  }
  return changed;
}

}  // namespace

Pass ReplaceViewOps() { return {"replace_view_ops", Run}; }

}  // namespace belay::exir
