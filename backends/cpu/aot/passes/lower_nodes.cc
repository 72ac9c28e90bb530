#include "backends/cpu/aot/passes/lower_nodes.h"

#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "exir/passes/constant_input.h"
#include "runtime/core/status_macros.h"

namespace belay::cpu {

absl::StatusOr<bool> LowerNodes(exir::ExportedProgram& program, exir::GraphEditor& editor,
                                absl::FunctionRef<absl::StatusOr<bool>(exir::NodeId)> lower) {
  bool changed = false;
  for (exir::NodeId id : editor.graph().NodeList()) {
    if (!editor.graph().contains(id)) continue;
    ABSL_ASSIGN_OR_RETURN(const bool lowered, lower(id));
    changed = changed || lowered;
  }
  if (changed) EraseUnused(program, editor);
  return changed;
}

void EraseUnused(exir::ExportedProgram& program, exir::GraphEditor& editor) {
  editor.EraseDeadNodes();
  const exir::Graph& graph = editor.graph();
  const std::vector<exir::ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  const absl::btree_set<std::string_view> mutated = exir::MutatedState(program.signature);
  exir::EraseInputs(program, editor, [&](size_t i) {
    const exir::InputSpec& spec = program.signature.inputs[i];
    return exir::NamesTensor(spec.kind) && !mutated.contains(spec.target) &&
           graph.value(inputs[i]).users.empty() && !graph.IsOutput(inputs[i]);
  });
}

}  // namespace belay::cpu
