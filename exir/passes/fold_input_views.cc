#include "exir/passes/fold_input_views.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {
namespace {

// The contiguous graph input of known sizes that `value` views, with the node of the view.
struct InputView {
  ValueId input;
  NodeId view;
};
std::optional<InputView> InputViewOf(const Graph& graph, const absl::flat_hash_set<ValueId>& inputs,
                                     ValueId value, const OpOverload* view) {
  const NodeId producer = graph.value(value).producer;
  if (!producer.valid() || graph.node(producer).target->aten() != view) return std::nullopt;
  const ValueId* const input = graph.node(producer).operand().get_if<ValueId>();
  if (input == nullptr || !inputs.contains(*input)) return std::nullopt;
  const TensorMeta* const from = graph.value(*input).tensor();
  const TensorMeta* const to = graph.value(value).tensor();
  if (from == nullptr || to == nullptr || !from->is_static() || !to->is_static() ||
      !from->is_contiguous() || !to->is_contiguous()) {
    return std::nullopt;
  }
  return InputView{*input, producer};
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpRegistry& ops = *program.ops;
  const OpOverload* const view = ops.Find("aten.view_copy.default");
  const OpOverload* const permute = ops.Find("aten.permute_copy.default");
  const OpOverload* const strided = ops.Find("aten.as_strided_copy.default");
  if (view == nullptr || permute == nullptr || strided == nullptr) return false;
  bool changed = false;
  Graph& graph = program.top();
  absl::flat_hash_set<ValueId> inputs;  // of the user; others have storage in the program
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (program.signature.inputs[i].kind == InputKind::kUserInput) inputs.insert(graph.inputs()[i]);
  }
  GraphEditor editor(graph);
  for (NodeId id : graph.NodeList()) {
    const Node& node = graph.node(id);
    if (node.target->aten() != permute) continue;
    const ValueId* const operand = node.operand().get_if<ValueId>();
    if (operand == nullptr) continue;
    const ValueId viewed = *operand;
    const std::optional<InputView> found = InputViewOf(graph, inputs, viewed, view);
    if (!found.has_value()) continue;
    const std::optional<Sizes> sizes = AsInts(graph.value(viewed).tensor()->sizes);
    const Argument::List* const dims = node.argument("dims").get_if<Argument::List>();
    if (!sizes.has_value() || NumElements(*sizes).value_or(0) == 0 || dims == nullptr ||
        std::ssize(*dims) != sizes->size()) {
      continue;
    }
    const Strides strides = ContiguousStrides(*sizes);
    Argument::List size, stride;
    for (const Argument& dim : *dims) {
      const int64_t* const d = dim.get_if<int64_t>();
      if (d == nullptr || *d < -sizes->size() || *d >= sizes->size()) break;
      const auto at = static_cast<int>(*d < 0 ? *d + sizes->size() : *d);
      size.push_back((*sizes)[at]);
      stride.push_back(strides[at]);
    }
    if (std::ssize(size) != sizes->size()) continue;
    editor.SetTarget(id, ops.ToEdge(strided));
    editor.SetArguments(id, {found->input, std::move(size), std::move(stride), Argument()});
    if (graph.value(viewed).users.empty() && !graph.IsOutput(viewed)) {
      editor.EraseNode(found->view);
    }
    changed = true;
  }
  return changed;
}

}  // namespace

Pass FoldInputViews() { return {"fold_input_views", Run}; }

}  // namespace belay::exir
