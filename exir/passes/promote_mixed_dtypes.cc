#include "exir/passes/promote_mixed_dtypes.h"

#include <optional>
#include <string_view>
#include <utility>

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

absl::StatusOr<bool> Run(ExportedProgram& program) {
  bool changed = false;
  const OpOverload* to_copy = program.ops->Find("aten._to_copy.default");
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      const Rule* rule = nullptr;
      for (const Rule& r : kRules) {
        if (node.target->name() == r.op) rule = &r;
      }
      if (rule == nullptr) continue;
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
        TensorMeta meta = *graph.value(operand).tensor();
        if (meta.dtype == *common) continue;
        meta.dtype = *common;
        // _to_copy(Tensor self, *, ScalarType? dtype, Layout?, Device?, bool? pin_memory, bool
        // non_blocking, MemoryFormat?)
        std::vector<Argument> arguments(to_copy->schema()->arguments.size());
        arguments[0] = operand;
        arguments[1] = *common;
        arguments[5] = false;
        const ValueId cast = editor.InsertOp(id,
                                             {.name = "_to_copy",
                                              .target = to_copy,
                                              .arguments = std::move(arguments),
                                              .provenance = graph.node(id).provenance},
                                             std::move(meta));
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
