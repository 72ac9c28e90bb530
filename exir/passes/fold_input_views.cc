#include "exir/passes/fold_input_views.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {
namespace {

// The sizes, if all are known and none is 0.
std::optional<std::vector<int64_t>> KnownSizes(const TensorMeta& meta) {
  std::vector<int64_t> sizes;
  for (const SymInt& size : meta.sizes) {
    const std::optional<int64_t> known = size.AsInt();
    // Strides next to an empty dimension may overflow.
    if (known.value_or(0) <= 0) return std::nullopt;
    sizes.push_back(*known);
  }
  return sizes;
}

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
    const std::optional<std::vector<int64_t>> sizes = KnownSizes(*graph.value(viewed).tensor());
    const Argument::List* const dims = node.argument("dims").get_if<Argument::List>();
    if (!sizes.has_value() || dims == nullptr || dims->size() != sizes->size()) continue;
    const auto rank = static_cast<int64_t>(sizes->size());
    std::vector<int64_t> strides(sizes->size(), 1);
    for (int64_t d = rank - 2; d >= 0; --d) {
      strides[static_cast<size_t>(d)] =
          strides[static_cast<size_t>(d + 1)] * (*sizes)[static_cast<size_t>(d + 1)];
    }
    Argument::List size, stride;
    for (const Argument& dim : *dims) {
      const int64_t* const d = dim.get_if<int64_t>();
      if (d == nullptr || *d < -rank || *d >= rank) break;
      const auto at = static_cast<size_t>(*d < 0 ? *d + rank : *d);
      size.push_back((*sizes)[at]);
      stride.push_back(strides[at]);
    }
    if (size.size() != sizes->size()) continue;
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
