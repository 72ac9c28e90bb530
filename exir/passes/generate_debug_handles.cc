#include "exir/passes/generate_debug_handles.h"

#include <algorithm>
#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

absl::StatusOr<bool> Run(ExportedProgram& program) {
  int64_t next = 1;
  absl::flat_hash_map<std::string, int64_t> by_origin;
  for (const Graph& graph : program.graphs) {
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      next = std::max(next, node.debug_handle + 1);
      if (node.debug_handle != 0 && node.provenance.origin != nullptr) {
        by_origin.emplace(*node.provenance.origin, node.debug_handle);
      }
    }
  }
  bool changed = false;
  std::deque<GraphId> pending = {ExportedProgram::kTop};
  while (!pending.empty()) {
    const GraphId current = pending.front();
    pending.pop_front();
    GraphEditor editor(program.graphs[current]);
    const Graph& graph = editor.graph();
    for (NodeId id : graph.NodeList()) {
      ForEachSubgraph(graph.node(id), [&](GraphId body) { pending.push_back(body); });
      const Node& node = graph.node(id);
      if (node.debug_handle != 0) continue;
      int64_t handle = next;
      if (node.provenance.origin != nullptr && !node.provenance.origin->empty()) {
        handle = by_origin.emplace(*node.provenance.origin, next).first->second;
      }
      if (handle == next) ++next;
      editor.SetDebugHandle(id, handle);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass GenerateDebugHandles() { return {"generate_debug_handles", Run}; }

}  // namespace belay::exir
