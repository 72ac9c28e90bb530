#include "exir/ir/infer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/ir/at_node.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

MetaValue TypeToMetaValue(const ValueType& type) {
  if (const auto* tensor = std::get_if<TensorMeta>(&type)) return *tensor;
  if (const auto* i = std::get_if<SymIntType>(&type)) return i->expr;
  if (const auto* f = std::get_if<SymFloatType>(&type)) return f->expr;
  if (const auto* b = std::get_if<SymBoolType>(&type)) return b->expr;
  if (const auto* c = std::get_if<ConstantType>(&type)) {
    return std::visit(
        [](const auto& v) -> MetaValue {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, int64_t>) {
            return SymExpr(v);
          } else {
            return MetaValue(v);
          }
        },
        c->value);
  }
  return None{};
}

// Creates placeholder symbols for data-dependent sizes. Their names never reach a program, because
// RefreshLayouts keeps the sizes of the program.
class AnonymousSymbols : public SymbolSource {
 public:
  SymExpr Fresh(SymRange) override { return SymExpr::Symbol(absl::StrCat("anonymous", next_++)); }

 private:
  int next_ = 0;
};

// Returns whether the inferred tensor contradicts the declared one.
bool Contradicts(const TensorMeta& declared, const TensorMeta& inferred) {
  if (declared.dtype != inferred.dtype || declared.rank() != inferred.rank()) return true;
  for (int d = 0; d < declared.rank(); ++d) {
    const auto a = declared.sizes[d].AsInt(), b = inferred.sizes[d].AsInt();
    if (a.has_value() && b.has_value() && *a != *b) return true;
  }
  return false;
}

absl::StatusOr<bool> RefreshValue(GraphEditor& editor, NodeId node, ValueId value,
                                  const MetaValue& inferred) {
  const TensorMeta* declared = editor.graph().value(value).tensor();
  const TensorMeta* meta = inferred.get_if<TensorMeta>();
  if (declared == nullptr || meta == nullptr) return false;
  if (Contradicts(*declared, *meta)) {
    return AtNode(absl::InvalidArgumentError(absl::StrCat(
                      "the program declares '", editor.graph().value(value).name, "' as ",
                      PrintType(*declared), ", its operator infers ", PrintType(*meta))),
                  editor.graph(), node);
  }
  // Uses the inferred dim order with the sizes of the program.
  const absl::StatusOr<DimOrder> order = DimOrderOf(*meta);
  if (!order.ok()) return false;
  TensorMeta updated = TensorMeta::Dense(declared->dtype, declared->sizes, *order);
  updated.device = declared->device;
  updated.requires_grad = declared->requires_grad;
  if (updated == *declared) return false;
  editor.SetType(value, std::move(updated));
  return true;
}

}  // namespace

absl::StatusOr<MetaValue> ToMetaValue(const Graph& graph, const Argument& argument) {
  return std::visit(
      [&](const auto& v) -> absl::StatusOr<MetaValue> {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, ValueId>) {
          return TypeToMetaValue(graph.value(v).type);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return MetaValue(SymExpr(v));
        } else if constexpr (std::is_same_v<T, Argument::List>) {
          MetaList list;
          list.reserve(v.size());
          for (const Argument& element : v) {
            ABSL_ASSIGN_OR_RETURN(MetaValue meta, ToMetaValue(graph, element));
            list.push_back(std::move(meta));
          }
          return MetaValue(std::move(list));
        } else if constexpr (std::is_same_v<T, GraphId> || std::is_same_v<T, ModuleId> ||
                             std::is_same_v<T, OperatorName> || std::is_same_v<T, Dict>) {
          return absl::UnimplementedError(
              "graphs, modules, operators and dictionaries have no metadata");
        } else {
          return MetaValue(v);
        }
      },
      argument.variant());
}

absl::StatusOr<std::vector<MetaValue>> InferOutputs(const Graph& graph, const OpOverload* target,
                                                    const std::vector<Argument>& arguments,
                                                    SymbolSource* symbols) {
  if (!target->has_meta_kernel()) {
    return absl::UnimplementedError(
        absl::StrCat("operator ", target->name(), " has no meta kernel"));
  }
  std::vector<MetaValue> values;
  values.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    ABSL_ASSIGN_OR_RETURN(MetaValue value, ToMetaValue(graph, argument));
    values.push_back(std::move(value));
  }
  MetaContext context(*target->schema(), std::move(values), symbols);
  ABSL_RETURN_IF_ERROR(target->def()->meta(context));
  return context.outputs();
}

absl::StatusOr<ValueId> InsertInferred(GraphEditor& editor, NodeId before, const OpOverload* target,
                                       std::vector<Argument> arguments) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<MetaValue> results,
                        InferOutputs(editor.graph(), target, arguments, nullptr));
  const Node& node = editor.graph().node(before);
  GraphEditor::NewNode call{.name = std::string(target->op()),
                            .target = target,
                            .arguments = std::move(arguments),
                            .provenance = node.provenance,
                            .debug_handle = node.debug_handle};
  return editor.InsertOp(before, std::move(call), ToValueType(results[0]));
}

ValueType ToValueType(const MetaValue& value) {
  if (const auto* tensor = value.get_if<TensorMeta>()) return *tensor;
  if (const auto* b = value.get_if<bool>()) return SymBoolType{SymExpr::Bool(*b)};
  if (const auto* d = value.get_if<double>()) return SymFloatType{SymExpr::Float(*d)};
  const auto* expr = value.get_if<SymExpr>();
  ABSL_CHECK(expr != nullptr);
  if (expr->value_kind() == SymExpr::ValueKind::kFloat) return SymFloatType{*expr};
  if (expr->value_kind() == SymExpr::ValueKind::kBool) return SymBoolType{*expr};
  return SymIntType{*expr};
}

absl::StatusOr<bool> RefreshLayouts(ExportedProgram& program) {
  bool changed = false;
  AnonymousSymbols symbols;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    GraphEditor editor(program.graphs[GraphId(g)]);
    const Graph& graph = editor.graph();
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      if (!node.target->has_meta_kernel()) continue;
      absl::StatusOr<std::vector<MetaValue>> inferred =
          InferOutputs(graph, node.target, node.arguments, &symbols);
      if (!inferred.ok()) return AtNode(inferred.status(), graph, id);
      const std::vector<NodeOutput> outputs = node.outputs;
      for (size_t k = 0; k < outputs.size() && k < inferred->size(); ++k) {
        const MetaList* list = (*inferred)[k].get_if<MetaList>();
        for (size_t i = 0; i < outputs[k].values.size(); ++i) {
          if (list != nullptr && i >= list->size()) break;
          const MetaValue& meta = list != nullptr ? (*list)[i] : (*inferred)[k];
          ABSL_ASSIGN_OR_RETURN(bool value_changed,
                                RefreshValue(editor, id, outputs[k].values[i], meta));
          changed = changed || value_changed;
        }
      }
    }
  }
  return changed;
}

}  // namespace belay::exir
