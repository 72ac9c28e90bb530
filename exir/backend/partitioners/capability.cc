#include "exir/backend/partitioners/capability.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// A node, or the getitem of one result of a node with several.
struct Step {
  NodeId node;
  ValueId result = {};  // invalid: the node itself
};

// Units (steps and groups of steps) and which of them are supported.
class Units {
 public:
  Units(const Graph& graph, const std::function<bool(NodeId)>& supported,
        const std::function<bool(ValueId)>& supports_result)
      : graph_(graph), unit_(graph.node_id_limit(), 0) {
    std::vector<ValueId> taken;
    if (supports_result != nullptr) {
      getitem_unit_.resize(graph.value_id_limit(), kNoGetitem);
      taken = TakenResults(graph);
    }
    const auto add = [&](Step step, bool is_supported) {
      steps_.push_back(step);
      members_.push_back({step});
      supported_.push_back(is_supported);
    };
    size_t next = 0;
    for (NodeId id : graph.nodes()) {
      unit_[id.index()] = members_.size();
      add({id}, supported(id));
      for (; next < taken.size() && graph.value(taken[next]).producer == id; ++next) {
        getitem_unit_[taken[next].index()] = members_.size();
        add({id, taken[next]}, supports_result(taken[next]));
      }
    }
  }

  // Moves the nodes into the unit of the first one, and with them the getitems of results that one
  // of the nodes produces and another uses.
  void Join(const std::vector<NodeId>& nodes) {
    const size_t to = unit_[nodes.front().index()];
    for (NodeId node : nodes) {
      const size_t from = unit_[node.index()];
      if (from == to) continue;
      members_[from].clear();
      members_[to].push_back({node});
      unit_[node.index()] = to;
    }
    if (getitem_unit_.empty()) return;
    for (NodeId node : nodes) {
      for (ValueId value : graph_.node(node).results()) {
        const std::vector<NodeId>& users = graph_.value(value).users;
        size_t& at = getitem_unit_[value.index()];
        if (at == kNoGetitem || at == to ||
            std::none_of(users.begin(), users.end(),
                         [&](NodeId user) { return unit_[user.index()] == to; })) {
          continue;
        }
        members_[at].clear();
        members_[to].push_back({node, value});
        at = to;
      }
    }
  }

  // Units from inputs to outputs. Omits units on a cycle or after one.
  std::vector<size_t> TopologicalOrder() const {
    std::vector<uint32_t> pending(members_.size());
    for (size_t u = 0; u < members_.size(); ++u) {
      ForEachUser(u, [&](size_t user) { ++pending[user]; });
    }
    std::vector<size_t> order;
    for (size_t u = 0; u < members_.size(); ++u) {
      if (pending[u] == 0 && !members_[u].empty()) order.push_back(u);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      ForEachUser(order[i], [&](size_t user) {
        if (--pending[user] == 0) order.push_back(user);
      });
    }
    return order;
  }

  // By unit: the number of its cycle; -1 if it is on none. Units that depend on each other are on
  // one cycle. (Tarjan's strongly connected components, iterative.)
  std::vector<int32_t> Cycles() const {
    std::vector<uint32_t> begin(members_.size() + 1, 0), users;
    for (size_t u = 0; u < members_.size(); ++u) {
      begin[u] = static_cast<uint32_t>(users.size());
      ForEachUser(u, [&](size_t user) { users.push_back(static_cast<uint32_t>(user)); });
    }
    begin[members_.size()] = static_cast<uint32_t>(users.size());
    constexpr uint32_t kUnseen = 0;
    std::vector<int32_t> cycles(members_.size(), -1);
    std::vector<uint32_t> seen_at(members_.size(), kUnseen), low(members_.size(), 0);
    std::vector<bool> open(members_.size(), false);
    std::vector<uint32_t> next_user(begin.begin(), begin.end() - 1), path, pending;
    uint32_t time = kUnseen;
    int32_t num_cycles = 0;
    for (uint32_t start = 0; start < members_.size(); ++start) {
      if (seen_at[start] != kUnseen) continue;
      path.push_back(start);
      while (!path.empty()) {
        const uint32_t u = path.back();
        if (seen_at[u] == kUnseen) {
          seen_at[u] = low[u] = ++time;
          open[u] = true;
          pending.push_back(u);
        }
        if (next_user[u] < begin[u + 1]) {
          const uint32_t user = users[next_user[u]++];
          if (seen_at[user] == kUnseen) {
            path.push_back(user);
          } else if (open[user]) {
            low[u] = std::min(low[u], seen_at[user]);
          }
          continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[u]);
        if (low[u] != seen_at[u]) continue;
        const bool alone = pending.back() == u;
        while (open[u]) {
          const uint32_t member = pending.back();
          pending.pop_back();
          open[member] = false;
          if (!alone) cycles[member] = num_cycles;
        }
        if (!alone) ++num_cycles;
      }
    }
    return cycles;
  }

  // By unit: the number of its partition, counted from the outputs, if it is supported; otherwise
  // the largest number of a partition that depends on it, or -1.
  std::vector<int32_t> Levels(const std::vector<size_t>& order) const {
    std::vector<int32_t> levels(members_.size(), -1);
    for (size_t i = order.size(); i-- > 0;) {
      const size_t u = order[i];
      int32_t level = supported_[u] ? 0 : -1;
      ForEachUser(u, [&](size_t user) {
        level = std::max(level, levels[user] + (supported_[u] && !supported_[user] ? 1 : 0));
      });
      levels[u] = level;
    }
    return levels;
  }

  size_t size() const { return members_.size(); }
  const std::vector<Step>& steps() const { return steps_; }  // in graph order
  size_t UnitOf(NodeId node) const { return unit_[node.index()]; }
  size_t UnitOf(const Step& step) const {
    return step.result.valid() ? getitem_unit_[step.result.index()] : UnitOf(step.node);
  }
  bool supported(size_t unit) const { return supported_[unit]; }

 private:
  static constexpr size_t kNoGetitem = std::numeric_limits<size_t>::max();

  template <class Fn>
  void ForEachUser(size_t u, const Fn& fn) const {
    for (const Step& step : members_[u]) {
      if (step.result.valid()) {
        ForEachUserOf(step.result, u, fn);
        continue;
      }
      for (const NodeOutput& output : graph_.node(step.node).outputs) {
        for (ValueId value : output.values) {
          const size_t at = getitem_unit_.empty() ? kNoGetitem : getitem_unit_[value.index()];
          if (at == kNoGetitem) {
            ForEachUserOf(value, u, fn);
          } else if (at != u) {
            fn(at);
          }
        }
      }
    }
  }
  template <class Fn>
  void ForEachUserOf(ValueId value, size_t u, const Fn& fn) const {
    for (NodeId user : graph_.value(value).users) {
      if (unit_[user.index()] != u) fn(unit_[user.index()]);
    }
  }

  const Graph& graph_;
  std::vector<Step> steps_;
  std::vector<size_t> unit_;                // by node
  std::vector<size_t> getitem_unit_;        // by value: the unit of its getitem; empty: no getitems
  std::vector<std::vector<Step>> members_;  // by unit, numbered in graph order
  std::vector<bool> supported_;
};

// Joins as many groups as possible without a cycle. If groups are on a cycle, the later half of
// them is removed and tried again together with the kept groups, a bounded number of times. A group
// that forms a cycle with the kept groups, without other candidates, is split into single nodes.
Units KeepTogether(const Units& singles, const std::vector<std::vector<NodeId>>& groups) {
  constexpr int kAttempts = 8;
  std::vector<size_t> kept, candidates(groups.size());
  std::iota(candidates.begin(), candidates.end(), 0);
  const auto join = [&](const std::vector<size_t>& more) {
    Units units = singles;
    for (size_t g : kept) units.Join(groups[g]);
    for (size_t g : more) units.Join(groups[g]);
    return units;
  };
  for (int attempt = 0; attempt < kAttempts && !candidates.empty(); ++attempt) {
    std::vector<size_t> trial = std::move(candidates);
    candidates.clear();
    while (!trial.empty()) {
      const Units units = join(trial);
      const std::vector<int32_t> cycles = units.Cycles();
      const auto cycle_of = [&](size_t g) { return cycles[units.UnitOf(groups[g].front())]; };
      absl::flat_hash_map<int32_t, size_t> on_cycle;
      for (size_t g : trial) {
        if (cycle_of(g) >= 0) ++on_cycle[cycle_of(g)];
      }
      if (on_cycle.empty()) break;
      std::vector<size_t> left;
      absl::flat_hash_map<int32_t, size_t> met;
      for (size_t g : trial) {
        const int32_t cycle = cycle_of(g);
        const size_t count = cycle < 0 ? 0 : on_cycle[cycle];
        if (cycle < 0 || met[cycle]++ < (count > 1 ? count - count / 2 : 0)) {
          left.push_back(g);
        } else if (count > 1) {
          candidates.push_back(g);
        }
      }
      trial = std::move(left);
    }
    kept.insert(kept.end(), trial.begin(), trial.end());
    std::sort(candidates.begin(), candidates.end());
  }
  return join({});
}

// `id_of`: index of the unit of a partition that determines its id.
std::vector<PartitionProposal> Propose(const Graph& graph, const Units& units,
                                       const ProposalOptions& options, int id_of) {
  const std::vector<int32_t> levels = units.Levels(units.TopologicalOrder());
  int32_t num_levels = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    if (units.supported(u)) num_levels = std::max(num_levels, levels[u] + 1);
  }
  // Ids count supported units from the outputs. A partition has the id of its second unit: the
  // smaller partition is merged into the larger, and of two single units the newer is kept.
  std::vector<PartitionProposal> proposals(static_cast<size_t>(num_levels));
  std::vector<int> met(static_cast<size_t>(num_levels), 0);
  std::vector<bool> done(units.size(), false);
  int64_t next_id = 0;
  for (size_t i = units.steps().size(); i-- > 0;) {
    const Step& step = units.steps()[i];
    const size_t u = units.UnitOf(step);
    if (!units.supported(u)) continue;
    if (!step.result.valid()) proposals[levels[u]].nodes.push_back(step.node);
    if (done[u]) continue;
    done[u] = true;
    if (++met[levels[u]] <= id_of) proposals[levels[u]].id = next_id;
    ++next_id;
  }
  for (PartitionProposal& proposal : proposals) {
    std::reverse(proposal.nodes.begin(), proposal.nodes.end());
  }
  // Partitions of getitems only follow their producers.
  proposals.erase(std::remove_if(proposals.begin(), proposals.end(),
                                 [](const PartitionProposal& p) { return p.nodes.empty(); }),
                  proposals.end());
  if (!options.allow_single_node) {
    const absl::flat_hash_set<std::string> non_compute(options.non_compute_ops.begin(),
                                                       options.non_compute_ops.end());
    const absl::flat_hash_set<std::string> allowed(options.allowed_single_node_ops.begin(),
                                                   options.allowed_single_node_ops.end());
    const auto is_small = [&](const PartitionProposal& proposal) {
      int compute = 0;
      for (NodeId node : proposal.nodes) {
        const std::string& name = graph.node(node).target->name();
        compute += (non_compute.contains(name) ? 0 : 1) + (allowed.contains(name) ? 1 : 0);
      }
      return compute <= 1;
    };
    proposals.erase(std::remove_if(proposals.begin(), proposals.end(), is_small), proposals.end());
  }
  std::sort(proposals.begin(), proposals.end(),
            [](const PartitionProposal& a, const PartitionProposal& b) { return a.id < b.id; });
  return proposals;
}

}  // namespace

std::vector<ValueId> TakenResults(const Graph& graph) {
  std::vector<bool> returned(graph.value_id_limit());
  for (const Argument& output : graph.outputs()) {
    ForEachValue(output, [&](ValueId value) { returned[value.index()] = true; });
  }
  std::vector<ValueId> taken;
  for (NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool has_one = node.outputs.size() == 1 &&
                         node.outputs[0].kind != NodeOutput::Kind::kList &&
                         node.target->schema() != nullptr;
    if (has_one) continue;
    for (ValueId value : node.results()) {
      if (!graph.value(value).users.empty() || returned[value.index()]) taken.push_back(value);
    }
  }
  return taken;
}

std::vector<PartitionProposal> ProposePartitions(const Graph& graph,
                                                 const std::function<bool(NodeId)>& supported,
                                                 const ProposalOptions& options) {
  // The smaller partition is merged into the larger, and of two single nodes the newer is kept.
  return Propose(graph, Units(graph, supported, options.supports_result), options, /*id_of=*/2);
}

absl::StatusOr<std::vector<PartitionProposal>> ProposeGroupedPartitions(
    const Graph& graph, const std::vector<std::vector<NodeId>>& groups,
    const std::function<bool(NodeId)>& supported, const ProposalOptions& options) {
  absl::flat_hash_set<NodeId> grouped;
  for (const std::vector<NodeId>& group : groups) {
    const absl::flat_hash_set<NodeId> members(group.begin(), group.end());
    for (NodeId node : members) {
      if (!graph.contains(node)) {
        return absl::InvalidArgumentError(
            absl::StrCat("a group has node ", node.index(), ", which is not in the graph"));
      }
    }
    for (NodeId node : group) {
      if (grouped.contains(node)) {
        return absl::InvalidArgumentError(
            absl::StrCat("node ", graph.node(node).name,
                         " exists in multiple groups: ", DescribeNode(graph, node)));
      }
    }
    grouped.insert(members.begin(), members.end());
  }
  const Units singles(graph, supported, options.supports_result);
  std::vector<std::vector<NodeId>> members;
  for (const std::vector<NodeId>& group : groups) {
    std::vector<NodeId> taken;
    for (NodeId node : group) {
      if (singles.supported(singles.UnitOf(node))) taken.push_back(node);
    }
    if (taken.size() > 1) members.push_back(std::move(taken));
  }
  return Propose(graph, KeepTogether(singles, members), options, /*id_of=*/1);
}

absl::StatusOr<std::vector<PartitionProposal>> ProposeFromNodeLists(
    const Graph& graph, const std::vector<std::vector<NodeId>>& lists,
    const std::function<bool(NodeId)>& supported, bool together, const ProposalOptions& options) {
  if (lists.empty() && supported == nullptr) {
    return absl::InvalidArgumentError(
        "expected lists of nodes or a predicate of supported nodes, got neither");
  }
  std::vector<bool> listed(graph.node_id_limit(), false);
  for (const std::vector<NodeId>& list : lists) {
    for (NodeId node : list) {
      if (!graph.contains(node)) {
        return absl::InvalidArgumentError(
            absl::StrCat("a list has node ", node.index(), ", which is not in the graph"));
      }
      listed[node.index()] = true;
    }
  }
  const auto takes = [&](NodeId node) {
    return listed[node.index()] || (supported != nullptr && supported(node));
  };
  if (together) return ProposeGroupedPartitions(graph, lists, takes, options);
  return ProposePartitions(graph, takes, options);
}

}  // namespace belay::exir
