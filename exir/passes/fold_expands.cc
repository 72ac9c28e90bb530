#include "exir/passes/fold_expands.h"

#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {
namespace {

// Whether an operand other than `expanded` has the sizes of the result and this dtype.
bool HasOperandLike(const Graph& graph, const Node& node, ValueId expanded,
                    const TensorMeta& result, DType dtype) {
  for (const Argument& argument : node.arguments) {
    const ValueId* value = argument.get_if<ValueId>();
    if (value == nullptr || *value == expanded) continue;
    const TensorMeta* meta = graph.value(*value).tensor();
    if (meta != nullptr && meta->sizes == result.sizes && meta->dtype == dtype) return true;
  }
  return false;
}

// Whether the node computes a result of the same type from `source` instead of `expanded`.
bool CanBroadcast(const Graph& graph, NodeId id, ValueId expanded, ValueId source) {
  const Node& node = graph.node(id);
  if (!node.target->has_trait(kPointwise) || node.outputs.size() != 1 ||
      node.outputs[0].kind != NodeOutput::Kind::kValue) {
    return false;
  }
  const TensorMeta* result = graph.value(graph.ResultOf(id)).tensor();
  const TensorMeta* from = graph.value(source).tensor();
  if (result == nullptr || from == nullptr ||
      !HasOperandLike(graph, node, expanded, *result, from->dtype)) {
    return false;
  }
  std::vector<Argument> arguments = node.arguments;
  for (Argument& argument : arguments) {
    if (argument == Argument(expanded)) argument = source;
  }
  const absl::StatusOr<std::vector<MetaValue>> inferred =
      InferOutputs(graph, node.target, arguments, nullptr);
  return inferred.ok() && inferred->size() == 1 &&
         ToValueType((*inferred)[0]) == graph.value(graph.ResultOf(id)).type;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpOverload* const expand = program.ops->Find("aten.expand_copy.default");
  if (expand == nullptr) return false;
  GraphEditor editor(program.top());
  const Graph& graph = editor.graph();
  bool changed = false;
  for (NodeId id : graph.NodeList()) {
    if (graph.node(id).target->aten() != expand) continue;
    const ValueId* const operand = graph.node(id).operand().get_if<ValueId>();
    if (operand == nullptr) continue;
    const ValueId source = *operand, expanded = graph.ResultOf(id);
    const std::vector<NodeId> users(graph.value(expanded).users.begin(),
                                    graph.value(expanded).users.end());
    for (NodeId user : users) {
      if (!CanBroadcast(graph, user, expanded, source)) continue;
      editor.ReplaceUsesIn(user, expanded, source);
      changed = true;
    }
    if (graph.value(expanded).users.empty() && !graph.IsOutput(expanded)) editor.EraseNode(id);
  }
  return changed;
}

}  // namespace

Pass FoldExpands() { return {"fold_expands", Run}; }

}  // namespace belay::exir
