#include "exir/flop_count.h"

#include <cstddef>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {
namespace {

enum class Rule { kProduct, kConvolution, kAttention };

struct Counted {
  Rule rule;
  size_t operand;  // the argument that is summed over, or the image
};

// By ATen's name, whatever the dialect.
const absl::flat_hash_map<std::string_view, Counted>& CountedOperators() {
  static const auto& table = *new absl::flat_hash_map<std::string_view, Counted>{
      {"aten.mm.default", {Rule::kProduct, 0}},
      {"aten.bmm.default", {Rule::kProduct, 0}},
      {"aten.mv.default", {Rule::kProduct, 0}},
      {"aten.dot.default", {Rule::kProduct, 0}},
      {"aten.matmul.default", {Rule::kProduct, 0}},
      {"aten.linear.default", {Rule::kProduct, 0}},
      {"aten.addmm.default", {Rule::kProduct, 1}},
      {"aten.addmv.default", {Rule::kProduct, 1}},
      {"aten.baddbmm.default", {Rule::kProduct, 1}},
      {"aten.convolution.default", {Rule::kConvolution, 0}},
      {"aten.conv1d.default", {Rule::kConvolution, 0}},
      {"aten.conv2d.default", {Rule::kConvolution, 0}},
      {"aten.conv3d.default", {Rule::kConvolution, 0}},
      {"aten.scaled_dot_product_attention.default", {Rule::kAttention, 0}},
  };
  return table;
}

class FlopCounter {
 public:
  FlopCounter(const ExportedProgram& program, const Graph& graph, const Node& node)
      : program_(program), graph_(graph), node_(node) {}

  double Count() const {
    const auto found = CountedOperators().find(node_.target->name());
    if (found == CountedOperators().end()) return 0;
    const Counted& counted = found->second;
    const TensorMeta* operand = Operand(counted.operand);
    const TensorMeta* result = Result();
    if (operand == nullptr || result == nullptr || operand->sizes.empty()) return 0;
    switch (counted.rule) {
      case Rule::kProduct:
        return 2 * Numel(*result) * Most(operand->sizes.back());
      case Rule::kConvolution:
        return Convolution(*operand, *result);
      case Rule::kAttention:
        return Attention(*operand);
    }
    return 0;
  }

 private:
  const TensorMeta* Operand(size_t index) const {
    if (index >= node_.arguments.size()) return nullptr;
    const ValueId* value = node_.arguments[index].get_if<ValueId>();
    return value == nullptr ? nullptr : graph_.value(*value).tensor();
  }
  const TensorMeta* Result() const {
    if (node_.outputs.empty() || node_.outputs[0].values.empty()) return nullptr;
    return graph_.value(node_.outputs[0].values[0]).tensor();
  }

  double Most(const SymInt& size) const {
    return static_cast<double>(size.Range(program_.ranges).max);
  }
  double Numel(const TensorMeta& tensor) const {
    double numel = 1;
    for (const SymInt& size : tensor.sizes) numel *= Most(size);
    return numel;
  }

  // Each element of the result is a sum over a filter; of a transposed one, each element of the
  // image goes into a filter's worth of them. Weights are [to, from / groups, kernel...], or
  // [from, to / groups, kernel...].
  double Convolution(const TensorMeta& image, const TensorMeta& result) const {
    constexpr size_t kTransposed = 6;
    const TensorMeta* weight = Operand(1);
    if (weight == nullptr || weight->sizes.empty()) return 0;
    const bool transposed =
        node_.arguments.size() > kTransposed && node_.arguments[kTransposed] == Argument(true);
    const double filters = Most(weight->sizes[0]);
    if (filters == 0) return 0;
    return 2 * Numel(transposed ? image : result) * (Numel(*weight) / filters);
  }

  // Scores of all pairs of queries and keys, and their sums of values.
  double Attention(const TensorMeta& query) const {
    const TensorMeta* key = Operand(1);
    const TensorMeta* value = Operand(2);
    if (key == nullptr || value == nullptr || query.sizes.size() < 2 || key->sizes.size() < 2 ||
        value->sizes.empty()) {
      return 0;
    }
    const double keys = Most(key->sizes[key->sizes.size() - 2]);
    const double depth = Most(query.sizes.back());
    if (depth == 0) return 0;
    return 2 * Numel(query) / depth * keys * (depth + Most(value->sizes.back()));
  }

  const ExportedProgram& program_;
  const Graph& graph_;
  const Node& node_;
};

}  // namespace

double FlopsOf(const ExportedProgram& program, const Graph& graph, const Node& node) {
  if (node.target == program.ops->CallDelegate()) {
    const ModuleId* module =
        node.arguments.empty() ? nullptr : node.arguments[0].get_if<ModuleId>();
    return module == nullptr ? 0 : FlopsOf(program.lowered_modules[*module]->original);
  }
  return FlopCounter(program, graph, node).Count();
}

double FlopsOf(const ExportedProgram& program) {
  double flops = 0;
  for (const Graph& graph : program.graphs) {
    for (const NodeId id : graph.nodes()) flops += FlopsOf(program, graph, graph.node(id));
  }
  return flops;
}

}  // namespace belay::exir
