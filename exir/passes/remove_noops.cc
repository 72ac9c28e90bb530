#include "exir/passes/remove_noops.h"

#include <optional>
#include <string_view>

#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

// Equal in all that a consumer can see.
bool SameTensor(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides &&
         a.device == b.device && a.layout == b.layout;
}

bool IsCandidate(const Node& node) {
  const std::string_view name = node.target->name();
  if (name == "aten.to.dtype" || name == "aten._to_copy.default") return true;
  if (name == "aten.slice_copy.Tensor") return true;
  // dropout(input, p, train)
  if (name == "aten.dropout.default")
    return node.arguments.size() == 3 && node.arguments[2] == Argument(false);
  return false;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (!IsCandidate(node) || node.arguments.empty()) continue;
      const ValueId* input = node.arguments[0].get_if<ValueId>();
      if (input == nullptr || node.outputs.size() != 1 ||
          node.outputs[0].kind != NodeOutput::Kind::kValue)
        continue;
      const ValueId result = node.outputs[0].values[0];
      const TensorMeta* from = graph.value(*input).tensor();
      const TensorMeta* to = graph.value(result).tensor();
      if (from == nullptr || to == nullptr || !SameTensor(*from, *to)) continue;
      // A slice of equal symbolic sizes takes everything only if it takes every element: step 1 and
      // equal sizes say so, but a returned value must not become an alias of an input or of another
      // result.
      if (graph.IsOutput(result)) continue;
      const ValueId source = *input;
      editor.ReplaceAllUses(result, source);
      editor.EraseNode(id);
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass RemoveNoops() { return {"remove_noops", Run}; }

}  // namespace belay::exir
