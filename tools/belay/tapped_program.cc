#include "tools/belay/tapped_program.h"

#include <utility>
#include <variant>

#include "exir/ir/graph_editor.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::tools {

using exir::ExportedProgram;
using exir::NodeId;
using exir::ValueId;

ExportedProgram Tap(const ExportedProgram& program, absl::Span<const NodeId> nodes, Results results,
                    std::vector<NodeId>& node_of_tap) {
  ExportedProgram tapped = program.Clone();
  exir::GraphEditor editor(tapped.top());
  std::vector<exir::Argument> outputs;
  if (results == Results::kAppend) {
    outputs.assign(tapped.top().outputs().begin(), tapped.top().outputs().end());
  } else {
    tapped.signature.outputs.clear();
    tapped.out_spec.clear();
  }
  for (NodeId node : nodes) {
    for (ValueId value : tapped.top().node(node).results()) {
      if (std::holds_alternative<exir::TokenType>(tapped.top().value(value).type)) continue;
      outputs.emplace_back(value);
      tapped.signature.outputs.push_back({});
      node_of_tap.push_back(node);
    }
  }
  editor.SetOutputs(std::move(outputs));
  if (results == Results::kReplace) {
    editor.EraseDeadNodes();
    tapped.EraseUnusedBodies();
  }
  return tapped;
}

std::string BackendOf(const ExportedProgram& lowered, const std::string& node) {
  for (const auto& module : lowered.lowered_modules) {
    for (const exir::Graph& graph : module->original.graphs) {
      for (NodeId id : graph.nodes()) {
        if (graph.node(id).name == node) return module->backend_id;
      }
    }
  }
  return "";
}

}  // namespace belay::tools
