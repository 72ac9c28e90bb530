#include "exir/passes/fold_expands.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/infer.h"
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

// Replaces products with repeated matrices.
class RepeatedMatrices {
 public:
  RepeatedMatrices(const OpRegistry& ops, const OpOverload* expand, GraphEditor& editor)
      : editor_(editor),
        graph_(editor.graph()),
        expand_(expand),
        view_(ops.Find("aten.view_copy.default")),
        bmm_(ops.Find("aten.bmm.default")) {
    const OpOverload* const mm = ops.Find("aten.mm.default");
    if (view_ == nullptr || bmm_ == nullptr || mm == nullptr) return;
    edge_view_ = ops.ToEdge(view_);
    edge_mm_ = ops.ToEdge(mm);
  }

  absl::StatusOr<bool> Run() {
    bool changed = false;
    if (edge_view_ == nullptr || edge_mm_ == nullptr) return changed;
    for (NodeId id : graph_.NodeList()) {
      if (!graph_.contains(id) || graph_.node(id).target->aten() != bmm_) continue;
      ABSL_ASSIGN_OR_RETURN(const bool replaced, Replace(id));
      changed = changed || replaced;
    }
    return changed;
  }

 private:
  // Returns the sizes; nullopt unless all are known.
  std::optional<std::vector<int64_t>> SizesOf(ValueId value) const {
    const TensorMeta* meta = graph_.value(value).tensor();
    if (meta == nullptr) return std::nullopt;
    std::vector<int64_t> sizes;
    for (const SymInt& size : meta->sizes) {
      const std::optional<int64_t> known = size.AsInt();
      if (!known.has_value()) return std::nullopt;
      sizes.push_back(*known);
    }
    return sizes;
  }

  // Returns the operand of the value's producer if that has this operator.
  const ValueId* OperandOf(ValueId value, const OpOverload* op) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid() || graph_.node(producer).target->aten() != op) return nullptr;
    return graph_.node(producer).operand().get_if<ValueId>();
  }

  // Returns the tensor of one matrix that all batches of `value`, [b, k, m], repeat.
  std::optional<ValueId> MatrixOf(ValueId value, const std::vector<int64_t>& sizes) const {
    const ValueId* const viewed = OperandOf(value, view_);
    const ValueId* const source = OperandOf(viewed == nullptr ? value : *viewed, expand_);
    if (source == nullptr) return std::nullopt;
    const std::optional<std::vector<int64_t>> one = SizesOf(*source);
    const std::optional<std::vector<int64_t>> all = SizesOf(viewed == nullptr ? value : *viewed);
    if (!one.has_value() || !all.has_value() || one->size() < 2) return std::nullopt;
    // The view merges only dimensions before the matrix.
    const bool is_matrix =
        std::equal(one->end() - 2, one->end(), sizes.end() - 2) &&
        std::equal(all->end() - 2, all->end(), sizes.end() - 2) &&
        std::all_of(one->begin(), one->end() - 2, [](int64_t n) { return n == 1; });
    return is_matrix ? std::optional(*source) : std::nullopt;
  }

  absl::StatusOr<ValueId> Insert(NodeId before, const OpOverload* target,
                                 std::vector<Argument> arguments) {
    ABSL_ASSIGN_OR_RETURN(const std::vector<MetaValue> results,
                          InferOutputs(graph_, target, arguments, nullptr));
    const Node& node = graph_.node(before);
    return editor_.InsertOp(before,
                            {.name = std::string(target->op()),
                             .target = target,
                             .arguments = std::move(arguments),
                             .provenance = node.provenance,
                             .debug_handle = node.debug_handle},
                            ToValueType(results[0]));
  }

  absl::StatusOr<bool> Replace(NodeId id) {
    const ValueId* const x = graph_.node(id).value_argument("self");
    const ValueId* const repeated = graph_.node(id).value_argument("mat2");
    if (x == nullptr || repeated == nullptr) return false;
    const ValueId result = graph_.ResultOf(id), last = *repeated;
    const std::optional<std::vector<int64_t>> rows = SizesOf(*x), sizes = SizesOf(*repeated);
    if (!rows.has_value() || !sizes.has_value() || sizes->at(0) < 2) return false;
    const std::optional<ValueId> matrix = MatrixOf(*repeated, *sizes);
    const TensorMeta type = graph_.MetaOf(result);
    constexpr int64_t kMostRows = int64_t{1} << 40;
    const int64_t batches = rows->at(0), n = rows->at(1);
    if (!matrix.has_value() || n > kMostRows / batches ||
        type.strides != ContiguousStrides(type.sizes)) {
      return false;
    }
    const auto list = [](std::initializer_list<int64_t> dims) {
      return Argument::List(dims.begin(), dims.end());
    };
    const int64_t k = sizes->at(1), m = sizes->at(2);
    ABSL_ASSIGN_OR_RETURN(const ValueId all, Insert(id, edge_view_, {*x, list({batches * n, k})}));
    ABSL_ASSIGN_OR_RETURN(const ValueId one, Insert(id, edge_view_, {*matrix, list({k, m})}));
    ABSL_ASSIGN_OR_RETURN(const ValueId product, Insert(id, edge_mm_, {all, one}));
    ABSL_ASSIGN_OR_RETURN(const ValueId viewed,
                          Insert(id, edge_view_, {product, list({batches, n, m})}));
    editor_.ReplaceAllUses(result, viewed);
    editor_.EraseNode(id);
    if (graph_.value(last).users.empty() && !graph_.IsOutput(last)) {
      editor_.EraseNode(graph_.value(last).producer);
    }
    return true;
  }

  GraphEditor& editor_;
  const Graph& graph_;
  const OpOverload *const expand_, *const view_, *const bmm_;
  const OpOverload *edge_view_ = nullptr, *edge_mm_ = nullptr;
};

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpOverload* const expand = program.ops->Find("aten.expand_copy.default");
  if (expand == nullptr) return false;
  GraphEditor editor(program.top());
  const Graph& graph = editor.graph();
  ABSL_ASSIGN_OR_RETURN(bool changed, RepeatedMatrices(*program.ops, expand, editor).Run());
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
