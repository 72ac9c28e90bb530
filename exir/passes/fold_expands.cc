#include "exir/passes/fold_expands.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
#include "exir/ir/match.h"
#include "exir/op_definition/op_registry.h"
#include "runtime/core/status_macros.h"

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

// Replaces products with a matrix that all batches repeat.
class RepeatedMatrices {
 public:
  RepeatedMatrices(const OpRegistry& ops, GraphEditor& editor)
      : editor_(editor), graph_(editor.graph()) {
    const OpOverload* const view = ops.Find("aten.view_copy.default");
    const OpOverload* const mm = ops.Find("aten.mm.default");
    if (view == nullptr || mm == nullptr) return;
    view_ = ops.ToEdge(view);
    mm_ = ops.ToEdge(mm);
  }

  absl::StatusOr<bool> Run() {
    bool changed = false;
    if (view_ == nullptr || mm_ == nullptr) return changed;
    const match::Pattern expand =
        match::Op("aten.expand_copy.default", match::Value(&matrix_)).As(&expand_);
    const match::Pattern product =
        match::Op("aten.bmm.default", match::Value(&rows_),
                  match::OneOf({match::Op("aten.view_copy.default", expand), expand}));
    const match::Matcher matcher(graph_);
    for (NodeId id : graph_.NodeList()) {
      if (!graph_.contains(id) || !matcher.Match(product, id).has_value()) continue;
      ABSL_ASSIGN_OR_RETURN(const bool replaced, Replace(id));
      changed = changed || replaced;
    }
    return changed;
  }

 private:
  // Whether the expanded tensor is one matrix, and a view of it merges only dimensions before that.
  bool RepeatsMatrix(const TensorMeta& repeated) const {
    const std::vector<SymInt>& one = graph_.MetaOf(matrix_).sizes;
    const std::vector<SymInt>& all = graph_.MetaOf(graph_.ResultOf(expand_)).sizes;
    return one.size() >= 2 && std::equal(one.end() - 2, one.end(), repeated.sizes.end() - 2) &&
           std::equal(all.end() - 2, all.end(), repeated.sizes.end() - 2) &&
           std::all_of(one.begin(), one.end() - 2,
                       [](const SymInt& size) { return size == SymInt(1); });
  }

  absl::StatusOr<bool> Replace(NodeId id) {
    const ValueId result = graph_.ResultOf(id);
    const ValueId repeated = *graph_.node(id).value_argument("mat2");
    const TensorMeta type = graph_.MetaOf(result);
    const auto batches = type.sizes[0].AsInt(), n = type.sizes[1].AsInt(),
               m = type.sizes[2].AsInt(), k = graph_.MetaOf(rows_).sizes[2].AsInt();
    constexpr int64_t kMostRows = int64_t{1} << 40;
    if (!batches.has_value() || !n.has_value() || !m.has_value() || !k.has_value() ||
        *batches < 2 || *n > kMostRows / *batches || !RepeatsMatrix(graph_.MetaOf(repeated)) ||
        type.strides != ContiguousStrides(type.sizes)) {
      return false;
    }
    const auto view = [&](ValueId value, std::initializer_list<int64_t> sizes) {
      return InsertInferred(editor_, id, view_,
                            {value, Argument::List(sizes.begin(), sizes.end())});
    };
    ABSL_ASSIGN_OR_RETURN(const ValueId all, view(rows_, {*batches * *n, *k}));
    ABSL_ASSIGN_OR_RETURN(const ValueId one, view(matrix_, {*k, *m}));
    ABSL_ASSIGN_OR_RETURN(const ValueId product, InsertInferred(editor_, id, mm_, {all, one}));
    ABSL_ASSIGN_OR_RETURN(const ValueId viewed, view(product, {*batches, *n, *m}));
    editor_.ReplaceAllUses(result, viewed);
    editor_.EraseNode(id);
    if (graph_.value(repeated).users.empty() && !graph_.IsOutput(repeated)) {
      editor_.EraseNode(graph_.value(repeated).producer);
    }
    return true;
  }

  GraphEditor& editor_;
  const Graph& graph_;
  const OpOverload *view_ = nullptr, *mm_ = nullptr;  // in the edge dialect
  // Captured by the pattern.
  ValueId rows_, matrix_;
  NodeId expand_;
};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpOverload* const expand = program.ops->Find("aten.expand_copy.default");
  if (expand == nullptr) return false;
  GraphEditor editor(program.top());
  const Graph& graph = editor.graph();
  ABSL_ASSIGN_OR_RETURN(bool changed, RepeatedMatrices(*program.ops, editor).Run());
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
