#include "backends/xnnpack/aot/dynamic_form.h"

#include <algorithm>
#include <vector>

#include "backends/xnnpack/aot/weight.h"

namespace belay::xnnpack {
namespace {

using exir::Argument;
using exir::Graph;
using exir::NodeId;
using exir::ValueId;

constexpr std::string_view kChoose =
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default";
constexpr std::string_view kQuantize = "quantized_decomposed.quantize_per_token.default";
constexpr std::string_view kDequantize = "quantized_decomposed.dequantize_per_token.default";

std::string_view NameOf(const Graph& graph, NodeId id) {
  return id.valid() ? std::string_view(graph.node(id).target->name()) : "";
}

// Returns the matmul's operand that has the rows; nullopt for other nodes, and for other weights.
std::optional<ValueId> RowsOf(const exir::ExportedProgram& program, NodeId id) {
  const exir::Node& node = program.top().node(id);
  const std::string_view name = node.target->name();
  const bool adds = name == "aten.addmm.default";
  if (!adds && name != "aten.mm.default") return std::nullopt;
  const ValueId *rows = node.value_argument(adds ? "mat1" : "self"),
                *matrix = node.value_argument("mat2");
  if (rows == nullptr || matrix == nullptr) return std::nullopt;
  const std::optional<Weight> weight = WeightOf(program, *matrix);
  const bool fits = weight.has_value() && weight->is_quantized() && weight->channel_dim == 1 &&
                    (weight->group_size != 0 || weight->scales.size() > 1);
  return fits ? std::optional(*rows) : std::nullopt;
}

bool IsView(const Graph& graph, NodeId id) {
  if (NameOf(graph, id) != "aten.view_copy.default") return false;
  const ValueId* from = graph.node(id).operand().get_if<ValueId>();
  const exir::TensorMeta *source = from == nullptr ? nullptr : graph.value(*from).tensor(),
                         *view = graph.value(graph.ResultOf(id)).tensor();
  return source != nullptr && view != nullptr && source->rank() > 0 && view->rank() > 0 &&
         source->sizes.back() == view->sizes.back();
}

// Whether all users of the value are matmuls of RowsOf, or views for them.
bool OnlyMatmulsUse(const exir::ExportedProgram& program, ValueId value, bool views) {
  const Graph& graph = program.top();
  const std::vector<NodeId>& users = graph.value(value).users;
  return !graph.IsOutput(value) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    if (RowsOf(program, user) == value) return true;
    return views && IsView(graph, user) && OnlyMatmulsUse(program, graph.ResultOf(user), false);
  });
}

// Whether the arguments are the results of `choose`, and the range is that of int8.
bool HasParameters(const Graph& graph, NodeId id, NodeId choose) {
  const exir::Node& node = graph.node(id);
  const std::vector<ValueId> results = graph.node(choose).results();
  return results.size() == 2 && node.arguments.size() >= 5 &&
         node.arguments[1] == Argument(results[0]) && node.arguments[2] == Argument(results[1]) &&
         node.arguments[3] == Argument(-128) && node.arguments[4] == Argument(127);
}

}  // namespace

bool IsDynamicQuantization(std::string_view op) {
  return op == kChoose || op == kQuantize || op == kDequantize;
}

std::optional<DynamicRows> DynamicRowsOf(const exir::ExportedProgram& program, NodeId id) {
  const Graph& graph = program.top();
  const auto producer = [&](NodeId node) {  // of the first operand
    const ValueId* operand = graph.node(node).operand().get_if<ValueId>();
    return operand == nullptr ? NodeId() : graph.value(*operand).producer;
  };
  NodeId quantize = id;
  if (NameOf(graph, id) == kChoose) {
    const std::vector<NodeId>& users = graph.value(graph.node(id).results()[0]).users;
    const auto it = std::find_if(users.begin(), users.end(),
                                 [&](NodeId user) { return NameOf(graph, user) == kQuantize; });
    quantize = it == users.end() ? NodeId() : *it;
  } else if (NameOf(graph, id) == kDequantize) {
    quantize = producer(id);
  } else if (NameOf(graph, id) != kQuantize) {
    const std::optional<ValueId> rows = RowsOf(program, id);
    NodeId node = rows.has_value() ? graph.value(*rows).producer : NodeId();
    if (node.valid() && IsView(graph, node)) node = producer(node);
    quantize = NameOf(graph, node) == kDequantize ? producer(node) : NodeId();
  }
  if (NameOf(graph, quantize) != kQuantize) return std::nullopt;
  const ValueId *source = graph.node(quantize).operand().get_if<ValueId>(),
                *scale = graph.node(quantize).arguments[1].get_if<ValueId>(),
                bytes = graph.ResultOf(quantize);
  const NodeId choose = scale == nullptr ? NodeId() : graph.value(*scale).producer;
  if (source == nullptr || NameOf(graph, choose) != kChoose || graph.IsOutput(bytes) ||
      graph.node(choose).operand() != Argument(*source) ||
      graph.node(choose).argument("dtype") != Argument(DType::kInt8) ||
      !HasParameters(graph, quantize, choose)) {
    return std::nullopt;
  }
  // Each user may have a dequantize node of its own.
  const auto is_dequantize = [&](NodeId user) {
    return NameOf(graph, user) == kDequantize && graph.node(user).operand() == Argument(bytes) &&
           HasParameters(graph, user, choose) &&
           OnlyMatmulsUse(program, graph.ResultOf(user), true);
  };
  std::vector<ValueId> values = graph.node(choose).results();
  values.push_back(bytes);
  for (ValueId value : values) {
    const std::vector<NodeId>& users = graph.value(value).users;
    if (graph.IsOutput(value) || !std::all_of(users.begin(), users.end(), [&](NodeId user) {
          return user == quantize || is_dequantize(user);
        })) {
      return std::nullopt;
    }
  }
  DynamicRows rows = {*source, choose, {choose, quantize}};
  for (NodeId dequantize : graph.value(bytes).users) {
    rows.nodes.push_back(dequantize);
    for (NodeId user : graph.value(graph.ResultOf(dequantize)).users) {
      if (IsView(graph, user)) rows.nodes.push_back(user);
    }
  }
  return rows;
}

}  // namespace belay::xnnpack
