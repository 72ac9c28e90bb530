#include "exir/passes/resolve_layout_queries.h"

#include <string_view>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

bool AsksForLayout(const Node& node) {
  const std::string_view name = node.target->name();
  return name == "aten.sym_storage_offset.default" || name == "aten.sym_stride.int" ||
         name == "aten.sym_is_contiguous.default";
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  for (Graph& graph : program.graphs) {
    std::vector<NodeId> queries;
    for (NodeId id : graph.nodes()) {
      if (AsksForLayout(graph.node(id))) queries.push_back(id);
    }
    if (queries.empty()) continue;
    GraphEditor editor(graph);
    OpBuilder builder(program, editor);
    for (NodeId id : queries) {
      const Node& node = graph.node(id);
      ABSL_ASSIGN_OR_RETURN(const std::vector<MetaValue> answer,
                            InferOutputs(graph, node.target, node.arguments, nullptr));
      const ValueId result = node.results()[0];
      Argument value;
      if (const bool* fact = answer[0].get_if<bool>()) {
        value = *fact;
      } else if (const SymInt* number = answer[0].get_if<SymInt>()) {
        builder.MoveTo(id);
        value = builder.Size(*number);
        ABSL_RETURN_IF_ERROR(builder.status());
      } else {
        continue;
      }
      // A size that is computed from this very value stays as it is.
      const ValueId* same = value.get_if<ValueId>();
      if (same != nullptr && *same == result) continue;
      editor.ReplaceAllUses(result, value);
      editor.EraseNode(id);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass ResolveLayoutQueries() { return {"resolve_layout_queries", Run}; }

}  // namespace belay::exir
