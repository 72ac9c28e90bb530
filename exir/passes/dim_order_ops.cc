#include "exir/passes/dim_order_ops.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/op_definition/op_table.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

struct Rule {
  std::string_view op, to;
};
constexpr Rule kRules[] = {
    {"aten._to_copy.default", "dim_order_ops._to_dim_order_copy.default"},
    {"aten.clone.default", "dim_order_ops._clone_dim_order.default"},
    {"aten.empty.memory_format", "dim_order_ops._empty_dim_order.default"},
};

// nullopt for a dim order of no memory format: the operators can only preserve it.
std::optional<DimOrder> OrderFor(const Graph& graph, const Node& node, MemoryFormat format) {
  const TensorMeta* out = graph.value(node.outputs[0].values[0]).tensor();
  switch (format) {
    case MemoryFormat::kContiguous:
      return ContiguousOrder(out->rank());
    case MemoryFormat::kChannelsLast:
    case MemoryFormat::kChannelsLast3d:
      return ChannelsLastOrder(out->rank());
    case MemoryFormat::kPreserve:
      break;
  }
  if (const ValueId* input = node.operand().get_if<ValueId>()) {
    if (const TensorMeta* meta = graph.value(*input).tensor()) {
      const absl::StatusOr<DimOrder> order = DimOrderOf(*meta);
      if (order.ok() && !(*order == ContiguousOrder(out->rank())) &&
          !(*order == ChannelsLastOrder(out->rank()))) {
        return std::nullopt;
      }
      if (order.ok()) return *order;
    }
  }
  return ContiguousOrder(out->rank());
}

absl::StatusOr<bool> Run(ExportedProgram& program) {
  const OpTable<Rule> rules(*program.ops, kRules);
  bool changed = false;
  for (Graph& graph : program.graphs) {
    GraphEditor editor(graph);
    for (NodeId id : graph.NodeList()) {
      const Node& node = graph.node(id);
      const Rule* rule = rules.Find(node.target);
      if (rule == nullptr) continue;
      const OpOverload* to = program.ops->Find(rule->to);
      if (to == nullptr) {
        return absl::UnimplementedError(
            absl::StrCat("operator ", std::string(rule->to), " is not registered"));
      }
      MemoryFormat format = MemoryFormat::kPreserve;
      if (const auto* f = node.argument("memory_format").get_if<MemoryFormat>()) format = *f;
      const std::optional<DimOrder> order = OrderFor(graph, node, format);
      // The arguments that the operators have in common, by name.
      std::vector<std::pair<std::string_view, Argument>> given;
      for (size_t i = 0; i < node.arguments.size(); ++i) {
        given.emplace_back(node.target->schema()->arguments[i].name, node.arguments[i]);
      }
      if (order.has_value()) {
        Argument::List list;
        for (uint8_t d : *order) list.push_back(int64_t{d});
        given.emplace_back("dim_order", std::move(list));
      }
      std::vector<Argument> arguments = ArgumentsByName(*to->schema(), std::move(given));
      const ValueId result = node.outputs[0].values[0];
      TensorMeta meta = graph.MetaOf(result);
      editor.SetTarget(id, to);
      editor.SetArguments(id, std::move(arguments));
      if (order.has_value()) {
        TensorMeta dense = TensorMeta::Dense(meta.dtype, meta.sizes, *order);
        dense.device = meta.device;
        dense.requires_grad = meta.requires_grad;
        editor.SetType(result, std::move(dense));
      }
      changed = true;
    }
  }
  return changed;
}

}  // namespace

Pass ReplaceMemoryFormatOps() { return {"dim_order_ops", Run}; }

}  // namespace belay::exir
