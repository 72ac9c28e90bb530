#include "exir/passes/remove_unused_parameters.h"

#include <string>

#include "absl/container/btree_set.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

absl::StatusOr<bool> Run(ExportedProgram& program) {
  GraphEditor editor(program.top());
  const Graph& graph = editor.graph();
  absl::btree_set<std::string> dropped, kept;
  std::vector<InputSpec> specs;
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& spec = program.signature.inputs[i];
    if (spec.kind == InputKind::kParameter && graph.value(inputs[i]).users.empty() &&
        !graph.IsOutput(inputs[i])) {
      dropped.insert(spec.target);
      editor.EraseInput(inputs[i]);
    } else {
      kept.insert(spec.target);
      specs.push_back(spec);
    }
  }
  if (dropped.empty()) return false;
  program.signature.inputs = std::move(specs);
  for (const std::string& name : dropped) {
    if (!kept.contains(name)) program.state_dict.erase(name);
  }
  return true;
}

}  // namespace

Pass RemoveUnusedParameters() { return {"remove_unused_parameters", Run}; }

}  // namespace belay::exir
