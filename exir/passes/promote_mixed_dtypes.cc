#include "exir/passes/promote_mixed_dtypes.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"

namespace belay::exir {
namespace {

struct Rule {
  std::string_view op;
  bool int_to_float;  // two integers divide as floating point numbers
};
constexpr Rule kRules[] = {
    {"aten.add.Tensor", false},      {"aten.sub.Tensor", false}, {"aten.mul.Tensor", false},
    {"aten.minimum.default", false}, {"aten.div.Tensor", true},  {"aten.div.Tensor_mode", true},
};

// PyTorch's promotion of two tensors: one of rank 0 counts only when it is of a higher category.
std::optional<DType> CommonDType(const TensorMeta& a, const TensorMeta& b) {
  const auto category = [](DType t) {
    return IsComplex(t) ? 3 : IsFloatingPoint(t) ? 2 : t == DType::kBool ? 0 : 1;
  };
  if ((a.rank() == 0) != (b.rank() == 0)) {
    const TensorMeta& tensor = a.rank() == 0 ? b : a;
    const TensorMeta& scalar = a.rank() == 0 ? a : b;
    if (category(scalar.dtype) <= category(tensor.dtype)) return tensor.dtype;
    if (category(tensor.dtype) == 3 || category(scalar.dtype) < 2) return scalar.dtype;
  }
  return PromoteTypes(a.dtype, b.dtype);
}

// A copy of the value in this dtype, before the node.
ValueId InsertCast(GraphEditor& editor, NodeId before, const OpOverload* to_copy, ValueId operand,
                   DType dtype) {
  TensorMeta meta = *editor.graph().value(operand).tensor();
  meta.dtype = dtype;
  // _to_copy(Tensor self, *, ScalarType? dtype, Layout?, Device?, bool? pin_memory, bool
  // non_blocking, MemoryFormat?)
  std::vector<Argument> arguments(to_copy->schema()->arguments.size());
  arguments[0] = operand;
  arguments[1] = dtype;
  arguments[5] = false;
  return editor.InsertOp(before,
                         {.name = "_to_copy",
                          .target = to_copy,
                          .arguments = std::move(arguments),
                          .provenance = editor.graph().node(before).provenance},
                         std::move(meta));
}

// Operators that bring what they put into their result to its dtype: the argument.
constexpr std::pair<std::string_view, int> kIntoResult[] = {
    {"aten.cat.default", 0},
    {"aten.select_scatter.default", 1},
    {"aten.slice_scatter.default", 1},
};

// Whether something was cast.
bool CastIntoResult(GraphEditor& editor, NodeId id, int argument, const OpOverload* to_copy) {
  const Graph& graph = editor.graph();
  const TensorMeta* result = graph.value(graph.node(id).outputs[0].values[0]).tensor();
  if (result == nullptr) return false;
  const DType dtype = result->dtype;
  bool changed = false;
  Argument operands = graph.node(id).arguments[argument];
  ForEachValueRef(operands, [&](ValueId& operand) {
    const TensorMeta* meta = graph.value(operand).tensor();
    if (meta == nullptr || meta->dtype == dtype) return;
    operand = InsertCast(editor, id, to_copy, operand, dtype);
    changed = true;
  });
  if (changed) editor.SetArgument(id, static_cast<size_t>(argument), std::move(operands));
  return changed;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  const OpOverload* to_copy = program.ops->Find("aten._to_copy.default");
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const std::string& name = graph.node(id).target->name();
      for (const auto& [op, argument] : kIntoResult) {
        if (name != op) continue;
        if (to_copy == nullptr)
          return absl::UnimplementedError("aten._to_copy.default is not registered");
        changed = CastIntoResult(editor, id, argument, to_copy) || changed;
        break;
      }
      const Rule* rule = nullptr;
      for (const Rule& r : kRules) {
        if (name == r.op) rule = &r;
      }
      if (rule == nullptr) continue;
      const Node& node = graph.node(id);  // until something is inserted
      const ValueId* operands[2] = {node.arguments[0].get_if<ValueId>(),
                                    node.arguments[1].get_if<ValueId>()};
      if (operands[0] == nullptr || operands[1] == nullptr) continue;
      const TensorMeta* a = graph.value(*operands[0]).tensor();
      const TensorMeta* b = graph.value(*operands[1]).tensor();
      if (a == nullptr || b == nullptr) continue;
      std::optional<DType> common = CommonDType(*a, *b);
      if (!common.has_value()) continue;  // the operator's own check will say what is wrong
      // div.Tensor_mode(self, other, *, str? rounding_mode): with a mode, integers stay integers.
      const bool to_float =
          rule->int_to_float && (node.arguments.size() < 3 || node.arguments[2].is_none());
      if (to_float && IsIntegral(*common, /*include_bool=*/true)) common = DType::kFloat32;
      if (to_copy == nullptr)
        return absl::UnimplementedError("aten._to_copy.default is not registered");
      for (int k = 0; k < 2; ++k) {
        const ValueId operand = *graph.node(id).arguments[k].get_if<ValueId>();
        if (graph.value(operand).tensor()->dtype == *common) continue;
        const ValueId cast = InsertCast(editor, id, to_copy, operand, *common);
        editor.SetArgument(id, k, cast);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace

Pass PromoteMixedDtypes() { return {"promote_mixed_dtypes", Run}; }

}  // namespace belay::exir
