#include "exir/passes/eliminate_dead_code.h"

#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

absl::StatusOr<bool> Run(ExportedProgram& program) {
  size_t erased = 0;
  for (Graph& graph : program.graphs) erased += GraphEditor(graph).EraseDeadNodes();
  return erased != 0;
}

}  // namespace

Pass EliminateDeadCode() { return {"eliminate_dead_code", Run}; }

}  // namespace belay::exir
