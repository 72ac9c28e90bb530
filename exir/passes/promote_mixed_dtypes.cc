#include "exir/passes/promote_mixed_dtypes.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/op_definition/op_table.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay::exir {
namespace {

struct Rule {
  std::string_view op;
  bool int_to_float;  // integer division gives floating point
};
constexpr Rule kRules[] = {
    {"aten.add.Tensor", false},      {"aten.sub.Tensor", false}, {"aten.mul.Tensor", false},
    {"aten.minimum.default", false}, {"aten.div.Tensor", true},  {"aten.div.Tensor_mode", true},
};

// Inserts a cast of the value to this dtype before the node.
ValueId InsertCast(GraphEditor& editor, NodeId before, const OpOverload* to_copy, ValueId operand,
                   DType dtype) {
  TensorMeta meta = *editor.graph().value(operand).tensor();
  meta.dtype = dtype;
  return editor.InsertOp(
      before,
      {.name = "_to_copy",
       .target = to_copy,
       .arguments = ArgumentsByName(*to_copy->schema(), {{"self", operand}, {"dtype", dtype}}),
       .provenance = editor.graph().node(before).provenance},
      std::move(meta));
}

// Operators that require the result's dtype for an argument.
struct IntoResult {
  std::string_view op, argument;
};
constexpr IntoResult kIntoResult[] = {
    {"aten.cat.default", "tensors"},
    {"aten.select_scatter.default", "src"},
    {"aten.slice_scatter.default", "src"},
};

// Returns whether something was cast.
bool CastIntoResult(GraphEditor& editor, NodeId id, std::string_view argument,
                    const OpOverload* to_copy) {
  const Graph& graph = editor.graph();
  const DType dtype = graph.MetaOf(graph.ResultOf(id)).dtype;
  bool changed = false;
  Argument operands = graph.node(id).argument(argument);
  ForEachValueRef(operands, [&](ValueId& operand) {
    const TensorMeta* meta = graph.value(operand).tensor();
    if (meta == nullptr || meta->dtype == dtype) return;
    operand = InsertCast(editor, id, to_copy, operand, dtype);
    changed = true;
  });
  if (changed) {
    editor.SetArgument(id, *graph.node(id).target->ArgumentIndex(argument), std::move(operands));
  }
  return changed;
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  const OpOverload* to_copy = program.ops->Find("aten._to_copy.default");
  const OpTable<Rule> rules(*program.ops, kRules);
  const OpTable<IntoResult> into_result(*program.ops, kIntoResult);
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const OpOverload* target = graph.node(id).target;
      if (const IntoResult* row = into_result.Find(target)) {
        if (to_copy == nullptr)
          return absl::UnimplementedError("aten._to_copy.default is not registered");
        changed |= CastIntoResult(editor, id, row->argument, to_copy);
      }
      const Rule* rule = rules.Find(target);
      if (rule == nullptr) continue;
      const Node& node = graph.node(id);  // valid until an insertion
      const ValueId *self = node.value_argument("self"), *other = node.value_argument("other");
      if (self == nullptr || other == nullptr) continue;
      const TensorMeta* a = graph.value(*self).tensor();
      const TensorMeta* b = graph.value(*other).tensor();
      if (a == nullptr || b == nullptr) continue;
      TypePromotion promotion;
      promotion.AddTensor(a->dtype, a->rank());
      promotion.AddTensor(b->dtype, b->rank());
      absl::StatusOr<DType> common = promotion.Result();
      if (!common.ok()) continue;  // the operator's own check reports the error
      // With a rounding mode, integer division gives integers.
      const bool to_float = rule->int_to_float && node.argument("rounding_mode").is_none();
      if (to_float && IsIntegral(*common, /*include_bool=*/true)) common = DType::kFloat32;
      if (to_copy == nullptr)
        return absl::UnimplementedError("aten._to_copy.default is not registered");
      for (std::string_view name : {"self", "other"}) {
        const ValueId operand = *graph.node(id).value_argument(name);
        if (graph.value(operand).tensor()->dtype == *common) continue;
        const ValueId cast = InsertCast(editor, id, to_copy, operand, *common);
        editor.SetArgument(id, *target->ArgumentIndex(name), cast);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace

Pass PromoteMixedDtypes() { return {"promote_mixed_dtypes", Run}; }

}  // namespace belay::exir
