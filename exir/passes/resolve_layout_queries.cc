#include "exir/passes/resolve_layout_queries.h"

#include <string_view>
#include <vector>

#include "exir/builder/op_builder.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

constexpr std::string_view kQueries[] = {"aten.sym_storage_offset.default", "aten.sym_stride.int",
                                         "aten.sym_is_contiguous.default"};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpTable<std::string_view> asks_for_layout(*program.ops, kQueries);
  bool changed = false;
  for (Graph& graph : program.graphs) {
    std::vector<NodeId> queries;
    for (NodeId id : graph.nodes()) {
      if (asks_for_layout.contains(graph.node(id).target)) queries.push_back(id);
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
      // A size that depends on this value is not replaced.
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
