#include "exir/backend/partitioners/pattern_match.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// How to find the match of a pattern node given the earlier ones.
struct Step {
  NodeId node;
  // An operand of the node that is already bound. Invalid for the first node, and for nodes that
  // are already bound because a bound node uses their result.
  ValueId used;
};

// Orders the pattern's nodes: backwards from the last one along operands, then along uses, until
// all are reached.
absl::StatusOr<std::vector<Step>> PlanSteps(const Graph& pattern) {
  if (!pattern.last().valid()) {
    return absl::InvalidArgumentError("expected a pattern with nodes, got none");
  }
  for (NodeId id : pattern.nodes()) {
    for (const Argument& argument : pattern.node(id).arguments) {
      bool plain = !argument.is<ModuleId>();
      ForEachGraph(argument, [&](GraphId) { plain = false; });
      if (plain) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "expected a pattern without subgraphs and modules, got ", PrintNode(pattern, id)));
    }
  }
  std::vector<Step> steps = {{pattern.last(), ValueId()}};
  absl::flat_hash_set<NodeId> planned = {pattern.last()};
  absl::flat_hash_set<ValueId> bound;
  size_t next = 0;
  while (true) {
    for (; next < steps.size(); ++next) {
      const Node& node = pattern.node(steps[next].node);
      for (ValueId result : node.results()) bound.insert(result);
      for (const Argument& argument : node.arguments) {
        ForEachValue(argument, [&](ValueId value) {
          bound.insert(value);
          const NodeId producer = pattern.value(value).producer;
          if (producer.valid() && planned.insert(producer).second) {
            steps.push_back({producer, ValueId()});
          }
        });
      }
    }
    // Another node that uses a bound value; results of nodes before inputs.
    Step found;
    for (bool inputs : {false, true}) {
      for (NodeId id : pattern.nodes()) {
        if (found.node.valid() || planned.contains(id)) continue;
        for (const Argument& argument : pattern.node(id).arguments) {
          ForEachValue(argument, [&](ValueId value) {
            if (found.node.valid() || !bound.contains(value)) return;
            if (pattern.IsInput(value) == inputs) found = {id, value};
          });
        }
      }
    }
    if (!found.node.valid()) break;
    planned.insert(found.node);
    steps.push_back(found);
  }
  for (NodeId id : pattern.nodes()) {
    if (planned.contains(id)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("expected a pattern that hangs together, but nothing connects ",
                     PrintNode(pattern, id), " with its last node"));
  }
  return steps;
}

class Matcher {
 public:
  Matcher(const Graph& graph, const Graph& pattern, const PatternMatchOptions& options,
          std::vector<Step> steps)
      : graph_(graph), pattern_(pattern), options_(options), steps_(std::move(steps)) {
    for (const Argument& output : pattern.outputs()) {
      ForEachValue(output, [this](ValueId value) { returned_.insert(value); });
    }
    for (const Argument& output : graph.outputs()) {
      ForEachValue(output, [this](ValueId value) { graph_returns_.insert(value); });
    }
  }

  // Returns the occurrence whose last pattern node matches this node.
  std::optional<std::vector<NodeId>> MatchAt(NodeId last) {
    State state;
    if (!BindNode(steps_[0].node, last, state) || !Extend(1, state)) return std::nullopt;
    return std::vector<NodeId>(state.taken.begin(), state.taken.end());
  }

 private:
  struct State {
    absl::flat_hash_map<NodeId, NodeId> nodes;      // pattern node -> graph node
    absl::flat_hash_map<ValueId, Argument> values;  // pattern input -> matched argument
    absl::flat_hash_set<NodeId> taken;
  };

  // Binds the steps from `step` on. If it returns true, `state` is the occurrence.
  bool Extend(size_t step, State& state) {
    for (; step < steps_.size(); ++step) {
      const Step& next = steps_[step];
      if (!next.used.valid()) continue;  // bound from one of its users
      const std::optional<ValueId> used = ValueOf(next.used, state);
      if (!used.has_value()) return false;
      NodeId previous;
      for (NodeId user : graph_.value(*used).users) {
        if (user == previous || state.taken.contains(user)) continue;
        previous = user;
        State attempt = state;
        if (BindNode(next.node, user, attempt) && Extend(step + 1, attempt)) {
          state = std::move(attempt);
          return true;
        }
      }
      return false;
    }
    return IsContained(state);
  }

  std::optional<ValueId> ValueOf(ValueId pattern_value, const State& state) const {
    // A step uses only values bound by earlier steps, which match nodes with as many results.
    const NodeId producer = pattern_.value(pattern_value).producer;
    if (!producer.valid()) {
      const ValueId* value = state.values.at(pattern_value).get_if<ValueId>();
      return value == nullptr ? std::nullopt : std::optional(*value);
    }
    const NodeId node = state.nodes.at(producer);
    const std::vector<ValueId> from = pattern_.node(producer).results();
    const std::vector<ValueId> to = graph_.node(node).results();
    const size_t k = std::find(from.begin(), from.end(), pattern_value) - from.begin();
    return to[k];
  }

  // Binds the node and all nodes that it depends on.
  bool BindNode(NodeId pattern_node, NodeId node, State& state) {
    std::vector<std::pair<NodeId, NodeId>> pending = {{pattern_node, node}};
    while (!pending.empty()) {
      const auto [p, g] = pending.back();
      pending.pop_back();
      const auto known = state.nodes.find(p);
      if (known != state.nodes.end()) {
        if (known->second != g) return false;
        continue;
      }
      const Node& wanted = pattern_.node(p);
      const Node& given = graph_.node(g);
      if (wanted.target->aten() != given.target->aten() ||
          wanted.arguments.size() != given.arguments.size() ||
          wanted.argument_names != given.argument_names ||
          wanted.results().size() != given.results().size() || !state.taken.insert(g).second) {
        return false;
      }
      state.nodes[p] = g;
      for (size_t i = 0; i < wanted.arguments.size(); ++i) {
        if (!BindArgument(wanted.arguments[i], given.arguments[i], state, pending)) return false;
      }
    }
    return true;
  }

  bool BindArgument(const Argument& wanted, const Argument& given, State& state,
                    std::vector<std::pair<NodeId, NodeId>>& pending) {
    if (const ValueId* value = wanted.get_if<ValueId>()) {
      const NodeId producer = pattern_.value(*value).producer;
      if (!producer.valid()) {
        const auto [it, added] = state.values.emplace(*value, given);
        return added || it->second == given;
      }
      const ValueId* actual = given.get_if<ValueId>();
      if (actual == nullptr || graph_.IsInput(*actual)) return false;
      const NodeId node = graph_.value(*actual).producer;
      const std::vector<ValueId> from = pattern_.node(producer).results();
      const std::vector<ValueId> to = graph_.node(node).results();
      const auto index = std::find(from.begin(), from.end(), *value) - from.begin();
      if (std::find(to.begin(), to.end(), *actual) - to.begin() != index) return false;
      pending.emplace_back(producer, node);
      return true;
    }
    const Argument::List* wanted_list = wanted.get_if<Argument::List>();
    const Argument::List* given_list = given.get_if<Argument::List>();
    if (wanted_list != nullptr && given_list != nullptr &&
        wanted_list->size() == given_list->size()) {
      for (size_t i = 0; i < wanted_list->size(); ++i) {
        if (!BindArgument((*wanted_list)[i], (*given_list)[i], state, pending)) return false;
      }
      return true;
    }
    bool has_values = false;
    for (const Argument* argument : {&wanted, &given}) {
      ForEachValue(*argument, [&](ValueId) { has_values = true; });
    }
    return !has_values && (options_.ignore_literals || wanted == given);
  }

  // Returns whether values that the pattern does not return are unused outside the occurrence.
  bool IsContained(const State& state) const {
    for (const auto& [p, g] : state.nodes) {
      const std::vector<ValueId> from = pattern_.node(p).results();
      const std::vector<ValueId> to = graph_.node(g).results();
      for (size_t k = 0; k < from.size(); ++k) {
        if (returned_.contains(from[k])) continue;
        if (graph_returns_.contains(to[k])) return false;
        for (NodeId user : graph_.value(to[k]).users) {
          if (!state.taken.contains(user)) return false;
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  const Graph& pattern_;
  const PatternMatchOptions& options_;
  const std::vector<Step> steps_;
  absl::flat_hash_set<ValueId> returned_, graph_returns_;
};

}  // namespace

absl::StatusOr<std::vector<std::vector<NodeId>>> FindPattern(const Graph& graph,
                                                             const Graph& pattern,
                                                             const PatternMatchOptions& options) {
  ABSL_ASSIGN_OR_RETURN(std::vector<Step> steps, PlanSteps(pattern));
  const OpOverload* last = pattern.node(pattern.last()).target->aten();
  Matcher matcher(graph, pattern, options, std::move(steps));
  const SecondaryMap<NodeId, uint32_t> positions = graph.Positions();
  std::vector<std::vector<NodeId>> found;
  std::vector<bool> taken(graph.node_id_limit(), false);
  for (NodeId node : graph.nodes()) {
    if (graph.node(node).target->aten() != last) continue;
    std::optional<std::vector<NodeId>> match = matcher.MatchAt(node);
    if (!match.has_value()) continue;
    if (std::any_of(match->begin(), match->end(), [&](NodeId n) { return taken[n.index()]; })) {
      continue;
    }
    for (NodeId n : *match) taken[n.index()] = true;
    std::sort(match->begin(), match->end(),
              [&](NodeId a, NodeId b) { return positions.get(a) < positions.get(b); });
    found.push_back(*std::move(match));
  }
  return found;
}

}  // namespace belay::exir
