#include "exir/flop_count.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exir/ir/lowered_backend_module.h"
#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

class FlopCounter {
 public:
  FlopCounter(const ExportedProgram& program, const Graph& graph, const Node& node)
      : program_(program), graph_(graph), node_(node) {}

  double Count() const {
    const FlopRule& rule = FactsOf(node_.target->name()).flops;
    const TensorMeta* result = Result();
    if (result == nullptr) return 0;
    switch (rule.kind) {
      case FlopRule::Kind::kMatmul:
        return Matmul(*result, rule.factor);
      case FlopRule::Kind::kConvolution:
        return Convolution(*result, rule.factor);
      case FlopRule::Kind::kAttention:
        return Attention();
      case FlopRule::Kind::kNone:
      case FlopRule::Kind::kWindow:  // the other rules are of backends' private operators
      case FlopRule::Kind::kDepthwise:
      case FlopRule::Kind::kChain:
        break;
    }
    return 0;
  }

 private:
  // Returns nullptr if it is not a tensor, or has rank 0.
  const TensorMeta* Operand(std::string_view name) const {
    const ValueId* value = node_.value_argument(name);
    const TensorMeta* tensor = value == nullptr ? nullptr : graph_.value(*value).tensor();
    return tensor == nullptr || tensor->sizes.empty() ? nullptr : tensor;
  }
  const TensorMeta* Result() const {
    if (node_.outputs.empty() || node_.outputs[0].values.empty()) return nullptr;
    return graph_.value(node_.outputs[0].values[0]).tensor();
  }

  double MaxSize(const SymInt& size) const {
    return static_cast<double>(size.Range(program_.ranges).max);
  }
  double Numel(const TensorMeta& tensor) const {
    double numel = 1;
    for (const SymInt& size : tensor.sizes) numel *= MaxSize(size);
    return numel;
  }

  double Matmul(const TensorMeta& result, std::string_view factor) const {
    const TensorMeta* operand = Operand(factor);
    return operand == nullptr ? 0 : 2 * Numel(result) * MaxSize(operand->sizes.back());
  }

  // Each output element is a dot product with a filter. Transposed: each input element is
  // multiplied with a filter.
  //   normal:      weight[out_channels, in_channels / groups, kernel...]
  //   transposed:  weight[in_channels, out_channels / groups, kernel...]
  double Convolution(const TensorMeta& result, std::string_view factor) const {
    const TensorMeta *image = Operand(factor), *weight = Operand("weight");
    if (image == nullptr || weight == nullptr) return 0;
    const bool transposed = node_.argument("transposed") == Argument(true);
    const double filters = MaxSize(weight->sizes[0]);
    if (filters == 0) return 0;
    return 2 * Numel(transposed ? *image : result) * (Numel(*weight) / filters);
  }

  // scores[q, k] = query[q] . key[k]; result[q] = sum over k of scores[q, k] * value[k].
  double Attention() const {
    const TensorMeta *query = Operand("query"), *key = Operand("key"), *value = Operand("value");
    if (query == nullptr || key == nullptr || value == nullptr || query->sizes.size() < 2 ||
        key->sizes.size() < 2) {
      return 0;
    }
    const double keys = MaxSize(key->sizes[key->sizes.size() - 2]);
    const double depth = MaxSize(query->sizes.back());
    if (depth == 0) return 0;
    return 2 * Numel(*query) / depth * keys * (depth + MaxSize(value->sizes.back()));
  }

  const ExportedProgram& program_;
  const Graph& graph_;
  const Node& node_;
};

// The iterations of scan and map; 1 for other nodes.
double RowsOf(const ExportedProgram& program, const Graph& graph, const Node& node) {
  std::optional<double> rows;
  ForEachValue(node.argument("rows"), [&](ValueId value) {
    const TensorMeta* tensor = graph.value(value).tensor();
    if (rows.has_value() || tensor == nullptr || tensor->sizes.empty()) return;
    rows = static_cast<double>(tensor->sizes[0].Range(program.ranges).max);
  });
  return rows.value_or(1);
}

}  // namespace

double FlopsOf(const ExportedProgram& program, const Graph& graph, const Node& node) {
  if (node.target == program.ops->CallDelegate()) {
    const ModuleId* module = node.argument("module").get_if<ModuleId>();
    return module == nullptr ? 0 : FlopsOf(program.lowered_modules[*module]->original);
  }
  return FlopCounter(program, graph, node).Count();
}

double FlopsOf(const ExportedProgram& program) {
  const std::vector<double> runs = RunsOfGraphs(program);
  double flops = 0;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[GraphId(g)];
    for (const NodeId id : graph.nodes()) {
      flops += runs[g] * FlopsOf(program, graph, graph.node(id));
    }
  }
  return flops;
}

std::vector<double> RunsOfGraphs(const ExportedProgram& program) {
  std::vector<double> runs(program.graphs.size(), 0);
  runs[0] = 1;
  std::vector<GraphId> pending = {ExportedProgram::kTop};
  for (size_t next = 0; next < pending.size(); ++next) {
    const GraphId id = pending[next];
    const Graph& graph = program.graphs[id];
    for (const NodeId node : graph.nodes()) {
      ForEachSubgraph(graph.node(node), [&](GraphId subgraph) {
        runs[subgraph.index()] = runs[id.index()] * RowsOf(program, graph, graph.node(node));
        pending.push_back(subgraph);
      });
    }
  }
  return runs;
}

}  // namespace belay::exir
