#include "exir/backend/transforms/duplicate_dequantize.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_table.h"

namespace belay::exir {
namespace {

constexpr std::string_view kDequantizations[] = {
    "quantized_decomposed.dequantize_per_tensor.default",
    "quantized_decomposed.dequantize_per_tensor.tensor",
    "quantized_decomposed.dequantize_per_tensor.tensor2",
};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpTable<std::string_view> dequantizations(*program.ops, kDequantizations);
  bool changed = false;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    const SecondaryMap<NodeId, uint32_t> positions = graph.Positions();
    for (NodeId node : graph.NodeList()) {
      if (!dequantizations.contains(graph.node(node).target)) continue;
      const ValueId value = graph.node(node).results()[0];
      std::vector<NodeId> users = graph.value(value).users;
      std::sort(users.begin(), users.end(),
                [&](NodeId a, NodeId b) { return positions.get(a) < positions.get(b); });
      users.erase(std::unique(users.begin(), users.end()), users.end());
      const NodeId behind = graph.next(node);
      for (size_t i = graph.IsOutput(value) ? 0 : 1; i < users.size(); ++i) {
        const Node& original = graph.node(node);
        const ValueId copy = editor.InsertOp(behind,
                                             {.name = original.name,
                                              .target = original.target,
                                              .arguments = original.arguments,
                                              .provenance = original.provenance,
                                              .debug_handle = original.debug_handle},
                                             graph.value(value).type);
        editor.ReplaceUsesIn(users[i], value, copy);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace

Pass DuplicateDequantize() { return {"duplicate_dequantize", Run}; }

}  // namespace belay::exir
