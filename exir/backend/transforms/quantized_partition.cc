#include "exir/backend/transforms/quantized_partition.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// The nodes to replace, found before any change.
struct Plan {
  std::vector<Argument> arguments;
  std::vector<NodeId> dequantizes, quantizes;  // all of `quantizes` are erased
  NodeId last;                                 // of the nodes
};

absl::StatusOr<Plan> MakePlan(const Graph& graph, const absl::flat_hash_set<NodeId>& inside,
                              const SecondaryMap<NodeId, uint32_t>& positions) {
  std::vector<NodeId> sorted(inside.begin(), inside.end());
  std::sort(sorted.begin(), sorted.end(),
            [&](NodeId a, NodeId b) { return positions.get(a) < positions.get(b); });
  Plan plan;
  plan.last = sorted.back();
  absl::flat_hash_set<ValueId> taken;
  absl::flat_hash_set<ValueId> returned;
  for (const Argument& output : graph.outputs()) {
    ForEachValue(output, [&](ValueId value) { returned.insert(value); });
  }
  for (NodeId id : sorted) {
    for (const Argument& argument : graph.node(id).arguments) {
      ForEachValue(argument, [&](ValueId value) {
        const NodeId producer = graph.value(value).producer;
        if ((producer.valid() && inside.contains(producer)) || !taken.insert(value).second) return;
        if (producer.valid() && graph.node(producer).target->has_trait(kDequantizes)) {
          plan.dequantizes.push_back(producer);
          plan.arguments.push_back(graph.node(producer).argument("input"));
        } else {
          plan.arguments.emplace_back(value);
        }
      });
    }
    for (ValueId value : graph.node(id).results()) {
      if (returned.contains(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("expected quantize nodes as users of the results of the partition, but "
                         "the graph returns ",
                         PrintArgument(graph, value)));
      }
      for (NodeId user : graph.value(value).users) {
        if (inside.contains(user)) continue;
        if (!graph.node(user).target->has_trait(kQuantizes)) {
          return absl::InvalidArgumentError(
              absl::StrCat("expected quantize nodes as users of the results of the partition, got ",
                           DescribeNode(graph, user)));
        }
        if (std::find(plan.quantizes.begin(), plan.quantizes.end(), user) == plan.quantizes.end()) {
          plan.quantizes.push_back(user);
        }
      }
    }
  }
  if (plan.dequantizes.empty()) {
    return absl::InvalidArgumentError("no dequantize node computes an operand of the partition");
  }
  if (plan.quantizes.empty()) {
    return absl::InvalidArgumentError("no quantize node uses a result of the partition");
  }
  return plan;
}

// Checks that all operands of the call are computed before `place`.
absl::Status CheckPlace(const Graph& graph, const Plan& plan,
                        const SecondaryMap<NodeId, uint32_t>& positions, NodeId place) {
  absl::Status status;
  for (const Argument& argument : plan.arguments) {
    ForEachValue(argument, [&](ValueId value) {
      // Graph inputs have no producer; their position is 0.
      const NodeId producer = graph.value(value).producer;
      if (!status.ok() || positions.get(producer) < positions.get(place)) return;
      status = absl::FailedPreconditionError(
          absl::StrCat("a result of the partition is needed to compute ",
                       DescribeNode(graph, producer), ", an operand of it"));
    });
  }
  return status;
}

}  // namespace

absl::StatusOr<QuantizedReplacement> ReplaceQuantizedPartition(Graph& graph,
                                                               absl::Span<const NodeId> nodes,
                                                               const OpOverload* op,
                                                               const std::vector<Argument>& more) {
  absl::flat_hash_set<NodeId> inside;
  for (NodeId node : nodes) {
    if (!graph.contains(node)) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", node.index(), " is not in the graph"));
    }
    inside.insert(node);
  }
  if (inside.empty()) return absl::InvalidArgumentError("the partition has no nodes");
  const SecondaryMap<NodeId, uint32_t> positions = graph.Positions();
  ABSL_ASSIGN_OR_RETURN(Plan plan, MakePlan(graph, inside, positions));
  // All users of the results come after the first quantize node.
  const NodeId place =
      *std::min_element(plan.quantizes.begin(), plan.quantizes.end(),
                        [&](NodeId a, NodeId b) { return positions.get(a) < positions.get(b); });
  ABSL_RETURN_IF_ERROR(CheckPlace(graph, plan, positions, place));
  plan.arguments.insert(plan.arguments.end(), more.begin(), more.end());
  if (op->schema() != nullptr && (op->schema()->arguments.size() != plan.arguments.size() ||
                                  op->schema()->returns.size() != plan.quantizes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the partition has ", plan.arguments.size(), " arguments and ", plan.quantizes.size(),
        " results, but ", op->name(), " is ", op->schema()->ToString()));
  }

  GraphEditor editor(graph);
  std::vector<GraphEditor::NewOutput> outputs;
  std::vector<std::pair<ValueId, std::string>> old;
  for (NodeId quantize : plan.quantizes) {
    const ValueId value = graph.node(quantize).results()[0];
    old.emplace_back(value, graph.value(value).name);
    outputs.push_back(
        {NodeOutput::Kind::kValue, {{graph.value(value).name, graph.value(value).type}}});
  }
  QuantizedReplacement replacement;
  replacement.node = editor.InsertNode(place,
                                       {.name = std::string(op->op()),
                                        .target = op,
                                        .arguments = std::move(plan.arguments),
                                        .provenance = graph.node(plan.last).provenance,
                                        .debug_handle = graph.node(plan.last).debug_handle},
                                       std::move(outputs));
  for (size_t k = 0; k < old.size(); ++k) {
    editor.ReplaceAllUses(old[k].first, graph.node(replacement.node).outputs[k].values[0]);
  }
  for (NodeId quantize : plan.quantizes) editor.EraseNode(quantize);
  std::vector<NodeId> sorted(inside.begin(), inside.end());
  std::sort(sorted.begin(), sorted.end(),
            [&](NodeId a, NodeId b) { return positions.get(a) > positions.get(b); });
  for (NodeId node : sorted) editor.EraseNode(node);
  for (NodeId dequantize : plan.dequantizes) {
    const ValueId value = graph.node(dequantize).results()[0];
    if (graph.value(value).users.empty() && !graph.IsOutput(value)) editor.EraseNode(dequantize);
  }
  for (size_t k = 0; k < old.size(); ++k) {
    editor.RenameValue(graph.node(replacement.node).outputs[k].values[0], old[k].second);
  }
  replacement.dequantizes = std::move(plan.dequantizes);
  replacement.quantizes = std::move(plan.quantizes);
  return replacement;
}

RemovedConversions RemoveFirstQuantizeAndLastDequantize(ExportedProgram& program) {
  RemovedConversions removed;
  GraphEditor editor(program.top());
  const Graph& graph = program.top();
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (program.signature.inputs[i].kind != InputKind::kUserInput) continue;
    const ValueId input = graph.inputs()[i];
    const std::vector<NodeId> users = graph.value(input).users;
    if (users.empty() || graph.IsOutput(input)) continue;
    const Node& first = graph.node(users[0]);
    const bool same = std::all_of(users.begin(), users.end(), [&](NodeId user) {
      const Node& node = graph.node(user);
      return node.target->has_trait(kQuantizes) && node.target == first.target &&
             node.arguments == first.arguments && node.argument("input") == Argument(input);
    });
    // Mutated inputs are not changed.
    const bool mutated = std::any_of(program.signature.outputs.begin(),
                                     program.signature.outputs.end(), [&](const OutputSpec& spec) {
                                       return spec.kind == OutputKind::kUserInputMutation &&
                                              spec.target == graph.value(input).name;
                                     });
    if (!same || mutated) continue;
    const ValueType type = graph.value(first.results()[0]).type;
    for (NodeId user : users) {
      editor.ReplaceAllUses(graph.node(user).results()[0], input);
      editor.EraseNode(user);
      ++removed.quantizes;
    }
    editor.SetType(input, type);
  }
  std::vector<Argument> outputs(graph.outputs().begin(), graph.outputs().end());
  for (size_t k = 0; k < outputs.size(); ++k) {
    const ValueId* value = outputs[k].get_if<ValueId>();
    if (value == nullptr || graph.IsInput(*value) ||
        program.signature.outputs[k].kind != OutputKind::kUserOutput) {
      continue;
    }
    const Node& node = graph.node(graph.value(*value).producer);
    if (!node.target->has_trait(kDequantizes)) continue;
    outputs[k] = node.argument("input");
    ++removed.dequantizes;
  }
  if (removed.dequantizes > 0) editor.SetOutputs(std::move(outputs));
  if (removed.dequantizes + removed.quantizes > 0) editor.EraseDeadNodes();
  return removed;
}

}  // namespace belay::exir
