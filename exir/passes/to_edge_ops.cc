#include "exir/passes/to_edge_ops.h"

#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

absl::StatusOr<bool> Run(ExportedProgram& program) {
  if (program.dialect == IrDialect::kEdge) return false;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const OpOverload* target = graph.node(id).target;
      if (target->dialect() != Dialect::kAten || target->has_trait(kSymbolic)) continue;
      editor.SetTarget(id, program.ops->ToEdge(target));
    }
  }
  program.dialect = IrDialect::kEdge;
  return true;
}

}  // namespace

Pass ToEdgeOps() { return {"to_edge_ops", Run}; }

}  // namespace belay::exir
