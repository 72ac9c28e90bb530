#include "exir/passes/remove_assertions.h"

#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpOverload* metadata = program.ops->Find("aten._assert_tensor_metadata.default");
  bool changed = false;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      if (graph.node(id).target->aten() != metadata) continue;
      editor.EraseNode(id);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass RemoveAssertions() { return {"remove_assertions", Run}; }

}  // namespace belay::exir
