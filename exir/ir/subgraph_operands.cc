#include "exir/ir/subgraph_operands.h"

#include <string_view>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"

namespace belay::exir {
namespace {

// The list `list` of an operator is bound to the inputs of its subgraphs that follow the inputs for
// the lists `before`.
struct OperandRule {
  std::string_view op;
  std::vector<std::string_view> subgraphs, before;
  std::string_view list;
};
const std::vector<OperandRule>& OperandRules() {
  static const auto& rules = *new std::vector<OperandRule>{
      {"higher_order.cond", {"true_graph", "false_graph"}, {}, "operands"},
      {"higher_order.map_impl", {"body"}, {"rows"}, "additional"},
      {"higher_order.scan", {"body"}, {"initial", "rows"}, "additional"},
      {"higher_order.while_loop", {"condition", "body"}, {"carried"}, "additional"},
  };
  return rules;
}

}  // namespace

std::vector<SubgraphOperand> SubgraphOperands(const Node& node) {
  std::vector<SubgraphOperand> operands;
  for (const OperandRule& rule : OperandRules()) {
    if (node.target->text_name() != rule.op) continue;
    const Argument::List* list = node.argument(rule.list).get_if<Argument::List>();
    if (list == nullptr) break;
    size_t first = 0;
    for (const std::string_view name : rule.before) {
      const Argument::List* earlier = node.argument(name).get_if<Argument::List>();
      if (earlier == nullptr) return {};
      first += earlier->size();
    }
    for (size_t i = 0; i < list->size(); ++i) {
      const ValueId* value = (*list)[i].get_if<ValueId>();
      if (value == nullptr) continue;
      SubgraphOperand operand{
          static_cast<size_t>(*node.target->ArgumentIndex(rule.list)), i, *value, {}};
      for (const std::string_view name : rule.subgraphs) {
        const GraphId* graph = node.argument(name).get_if<GraphId>();
        if (graph == nullptr) return {};
        operand.inputs.emplace_back(*graph, first + i);
      }
      operands.push_back(std::move(operand));
    }
  }
  return operands;
}

ConstantSubgraphInputs FindConstantSubgraphInputs(const ExportedProgram& program) {
  ConstantSubgraphInputs constants(program.graphs.size());
  for (uint32_t g = 1; g < program.graphs.size(); ++g) {
    constants[g].resize(program.graphs[GraphId(g)].inputs().size());
  }
  if (program.graphs.size() < 2) return constants;
  const absl::btree_set<std::string_view> written = MutatedState(program.signature);
  std::vector<GraphId> pending = {ExportedProgram::kTop};
  for (size_t next = 0; next < pending.size(); ++next) {
    const GraphId id = pending[next];
    const Graph& graph = program.graphs[id];
    absl::flat_hash_map<ValueId, size_t> known;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (id != ExportedProgram::kTop) {
        const std::optional<size_t>& constant = constants[id.index()][i];
        if (constant.has_value()) known[graph.inputs()[i]] = *constant;
        continue;
      }
      const InputSpec& spec = program.signature.inputs[i];
      if (NamesTensor(spec.kind) && !written.contains(spec.target)) known[graph.inputs()[i]] = i;
    }
    for (const NodeId node : graph.nodes()) {
      ForEachSubgraph(graph.node(node), [&](GraphId subgraph) { pending.push_back(subgraph); });
      for (const SubgraphOperand& operand : SubgraphOperands(graph.node(node))) {
        const auto constant = known.find(operand.value);
        if (constant == known.end()) continue;
        for (const auto& [subgraph, input] : operand.inputs) {
          std::vector<std::optional<size_t>>& row = constants[subgraph.index()];
          if (input < row.size()) row[input] = constant->second;
        }
      }
    }
  }
  return constants;
}

ExportedProgram SubgraphAsProgram(const ExportedProgram& program, GraphId graph,
                                  const std::vector<std::optional<size_t>>& constants) {
  ExportedProgram result(program.ops);
  result.dialect = program.dialect;
  result.ranges = program.ranges;
  result.hints = program.hints;
  result.graphs.push_back(program.graphs[graph]);
  for (const std::optional<size_t>& constant : constants) {
    if (!constant.has_value()) {
      result.signature.inputs.push_back({});
      continue;
    }
    const InputSpec& spec = program.signature.inputs[*constant];
    result.signature.inputs.push_back(spec);
    // A verified program has all of its constants.
    if (const ConstantTensor* tensor = program.FindConstant(spec)) {
      const bool is_state = spec.kind == InputKind::kParameter ||
                            (spec.kind == InputKind::kBuffer && spec.persistent);
      (is_state ? result.state_dict : result.constants).insert({spec.target, *tensor});
    }
  }
  result.signature.outputs.resize(result.top().outputs().size());
  return result;
}

}  // namespace belay::exir
