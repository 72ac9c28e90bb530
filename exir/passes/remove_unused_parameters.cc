#include "exir/passes/remove_unused_parameters.h"

#include "exir/ir/graph_editor.h"
#include "exir/passes/constant_input.h"

namespace belay::exir {
namespace {

absl::StatusOr<bool> Run(ExportedProgram& program) {
  GraphEditor editor(program.top());
  const Graph& graph = editor.graph();
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  return EraseInputs(program, editor, [&](size_t i) {
    return program.signature.inputs[i].kind == InputKind::kParameter &&
           graph.value(inputs[i]).users.empty() && !graph.IsOutput(inputs[i]);
  });
}

}  // namespace

Pass RemoveUnusedParameters() { return {"remove_unused_parameters", Run}; }

}  // namespace belay::exir
