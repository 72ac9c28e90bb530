#include "exir/backend/lowering/partition_schedule.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Units are numbered: partitions first, then nodes.
class Contraction {
 public:
  Contraction(const Graph& graph, const GraphPlan& plan)
      : graph_(graph), plan_(plan), num_units_(plan.partitions.size() + graph.node_id_limit()) {
    for (const auto& [earlier, later] : plan.in_sequence) followers_[earlier].push_back(later);
  }

  size_t num_units() const { return num_units_; }
  size_t UnitOf(NodeId node) const {
    const int32_t partition = plan_.partition_of[node.index()];
    return partition >= 0 ? static_cast<size_t>(partition) : plan_.partitions.size() + node.index();
  }
  bool IsPartition(size_t unit) const { return unit < plan_.partitions.size(); }
  NodeId Host(size_t unit) const {
    return NodeId(static_cast<uint32_t>(unit - plan_.partitions.size()));
  }
  PlanUnit ToPlan(size_t unit) const {
    return IsPartition(unit) ? PlanUnit{NodeId(), static_cast<int32_t>(unit)}
                             : PlanUnit{Host(unit), -1};
  }

  // Calls fn(from node, to node) for each use of a result of the unit by another unit, and for each
  // node of another unit that must follow one of this unit.
  template <class Fn>
  void ForEachEdge(size_t unit, const Fn& fn) const {
    if (!IsPartition(unit)) {
      EdgesOf(Host(unit), unit, fn);
      return;
    }
    for (NodeId node : plan_.partitions[unit].nodes) EdgesOf(node, unit, fn);
  }

 private:
  template <class Fn>
  void EdgesOf(NodeId node, size_t unit, const Fn& fn) const {
    for (const NodeOutput& output : graph_.node(node).outputs) {
      for (ValueId value : output.values) {
        for (NodeId user : graph_.value(value).users) {
          if (UnitOf(user) != unit) fn(node, user);
        }
      }
    }
    if (followers_.empty()) return;
    const auto followers = followers_.find(node);
    if (followers == followers_.end()) return;
    for (NodeId later : followers->second) {
      if (UnitOf(later) != unit) fn(node, later);
    }
  }

  const Graph& graph_;
  const GraphPlan& plan_;
  size_t num_units_;
  absl::flat_hash_map<NodeId, std::vector<NodeId>> followers_;
};

std::string NodeWithTag(const Graph& graph, const GraphPlan& plan, NodeId node) {
  const int32_t partition = plan.partition_of[node.index()];
  std::string text = DescribeNode(graph, node);
  if (partition >= 0) {
    absl::StrAppend(&text, "  [tag '", plan.partitions[partition].tag, "']");
  }
  return text;
}

// `pending[unit]`: number of uses of results of unplaced units. A unit with pending > 0 is on a
// cycle or after one.
absl::Status CycleError(const Graph& graph, const GraphPlan& plan, const Contraction& contraction,
                        const std::vector<uint32_t>& pending) {
  // Following uses backwards from unit to unit ends in a cycle. The error names the partition of
  // the last tag on it.
  std::vector<size_t> predecessor(contraction.num_units(), contraction.num_units());
  size_t unit = contraction.num_units();
  for (size_t u = 0; u < contraction.num_units(); ++u) {
    if (pending[u] == 0) continue;
    unit = u;
    contraction.ForEachEdge(u, [&](NodeId, NodeId to) { predecessor[contraction.UnitOf(to)] = u; });
  }
  std::vector<bool> seen(contraction.num_units());
  while (!seen[unit]) {
    seen[unit] = true;
    unit = predecessor[unit];
  }
  size_t blamed = unit;
  for (size_t u = predecessor[unit]; u != unit; u = predecessor[u]) {
    if (!contraction.IsPartition(u)) continue;
    if (!contraction.IsPartition(blamed) || u > blamed) blamed = u;
  }
  // The shortest path from its results to its arguments; the cycle is one such path.
  struct Step {
    NodeId from, to;
  };
  std::vector<Step> reached_by(contraction.num_units());
  std::deque<size_t> queue = {blamed};
  while (!reached_by[blamed].to.valid()) {
    const size_t u = queue.front();
    queue.pop_front();
    contraction.ForEachEdge(u, [&](NodeId from, NodeId to) {
      const size_t next = contraction.UnitOf(to);
      if (reached_by[next].to.valid()) return;
      reached_by[next] = {from, to};
      queue.push_back(next);
    });
  }
  std::vector<NodeId> path;
  size_t u = blamed;
  do {
    const Step step = reached_by[u];
    if (path.empty() || path.back() != step.to) path.push_back(step.to);
    path.push_back(step.from);
    u = contraction.UnitOf(step.from);
  } while (u != blamed);
  std::string message =
      absl::StrCat("invalid partition, found dependency cycles: the results of tag '",
                   plan.partitions[blamed].tag, "' are needed to compute its inputs:");
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    absl::StrAppend(&message, "\n  ", NodeWithTag(graph, plan, *it));
  }
  return absl::FailedPreconditionError(message);
}

// The position of each partition: its last node with a result that is used outside; its first
// node if no result is.
std::vector<NodeId> Places(const Graph& graph, const GraphPlan& plan,
                           const Contraction& contraction) {
  std::vector<bool> returned(graph.value_id_limit(), false);
  for (const Argument& output : graph.outputs()) {
    ForEachValue(output, [&](ValueId value) { returned[value.index()] = true; });
  }
  std::vector<NodeId> places;
  for (size_t p = 0; p < plan.partitions.size(); ++p) {
    NodeId place = plan.partitions[p].nodes.front();
    contraction.ForEachEdge(p, [&](NodeId from, NodeId) { place = from; });
    const std::vector<NodeId>& nodes = plan.partitions[p].nodes;
    // Nodes after this position, which is one of the nodes.
    for (size_t i = nodes.size() - 1; nodes[i] != place; --i) {
      const std::vector<ValueId> results = graph.node(nodes[i]).results();
      if (std::any_of(results.begin(), results.end(),
                      [&](ValueId value) { return returned[value.index()]; })) {
        place = nodes[i];
        break;
      }
    }
    places.push_back(place);
  }
  return places;
}

}  // namespace

absl::Status OrderContracted(const Graph& graph, GraphPlan& plan) {
  const Contraction contraction(graph, plan);
  const std::vector<NodeId> places = Places(graph, plan, contraction);
  std::vector<uint32_t> position(contraction.num_units());
  std::vector<uint32_t> pending(contraction.num_units());
  std::vector<size_t> units;  // by position
  uint32_t count = 0;
  for (NodeId node : graph.nodes()) {
    const size_t unit = contraction.UnitOf(node);
    if (contraction.IsPartition(unit) && places[unit] != node) continue;
    position[unit] = count++;
    units.push_back(unit);
  }
  for (size_t unit : units) {
    contraction.ForEachEdge(unit, [&](NodeId, NodeId to) { ++pending[contraction.UnitOf(to)]; });
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (size_t unit : units) {
    if (pending[unit] == 0) ready.push(position[unit]);
  }
  plan.order.clear();
  plan.order.reserve(units.size());
  while (!ready.empty()) {
    const size_t unit = units[ready.top()];
    ready.pop();
    plan.order.push_back(contraction.ToPlan(unit));
    contraction.ForEachEdge(unit, [&](NodeId, NodeId to) {
      const size_t next = contraction.UnitOf(to);
      if (--pending[next] == 0) ready.push(position[next]);
    });
  }
  if (plan.order.size() == units.size()) return absl::OkStatus();
  return CycleError(graph, plan, contraction, pending);
}

}  // namespace belay::exir
