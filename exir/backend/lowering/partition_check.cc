#include "exir/backend/lowering/partition_check.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/backend/lowering/constant_assignment.h"
#include "exir/backend/lowering/module_state.h"
#include "exir/backend/lowering/partition_schedule.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// Tags of all graphs as indices into answer.delegation.
class TagTable {
 public:
  static constexpr int32_t kNone = -1;

  static absl::StatusOr<TagTable> Create(const ExportedProgram& program,
                                         const PartitionResult& answer, bool validate,
                                         std::vector<std::string>* notes) {
    TagTable table;
    absl::flat_hash_map<std::string_view, int32_t> index;
    for (size_t i = 0; i < answer.delegation.size(); ++i) {
      const std::string& tag = answer.delegation[i].first;
      if (validate && tag.empty()) {
        return absl::InvalidArgumentError("the map from tags to backends has an empty tag");
      }
      if (!index.emplace(tag, static_cast<int32_t>(i)).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("the map from tags to backends has the tag '", tag, "' twice"));
      }
    }
    if (validate && !answer.has_delegation) {
      return absl::InvalidArgumentError(
          "the partitioner needs a `partition_tags` field containing a mapping of tags to delegate "
          "spec: its answer has no map from tags to backends");
    }
    table.tags_.resize(program.graphs.size());
    absl::flat_hash_set<std::string_view> unknown;
    std::vector<std::vector<const std::string*>> tag_names(program.graphs.size());
    for (const PartitionResult::NodeTag& tagged : answer.nodes) {
      const bool exists = program.graphs.contains(tagged.graph) &&
                          program.graphs[tagged.graph].contains(tagged.node);
      const auto it = index.find(tagged.tag);
      if (!exists && (it != index.end() || (validate && tagged.tag.empty()))) {
        return absl::InvalidArgumentError(
            absl::StrCat("tag '", tagged.tag, "' is on node ", tagged.node.index(), " of graph ",
                         tagged.graph.index(), ", which does not exist"));
      }
      const auto note_unknown = [&](std::string_view what) {
        if (!unknown.insert(tagged.tag).second || notes == nullptr) return;
        notes->push_back(absl::StrCat(
            "tag '", tagged.tag,
            "' is not in the map from tags to backends; its nodes are not delegated: ", what));
      };
      if (!exists) {
        note_unknown("one that does not exist");
        continue;
      }
      const Graph& graph = program.graphs[tagged.graph];
      if (validate && tagged.tag.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the tag of a node is empty: ", DescribeNode(graph, tagged.node)));
      }
      std::vector<int32_t>& tags = table.tags_[tagged.graph.index()];
      std::vector<const std::string*>& text = tag_names[tagged.graph.index()];
      if (tags.empty()) {
        tags.resize(graph.node_id_limit(), kNone);
        text.resize(graph.node_id_limit(), nullptr);
      }
      const std::string*& earlier = text[tagged.node.index()];
      if (earlier != nullptr && *earlier != tagged.tag) {
        return absl::InvalidArgumentError(absl::StrCat("a node is tagged twice, '", *earlier,
                                                       "' and '", tagged.tag,
                                                       "': ", DescribeNode(graph, tagged.node)));
      }
      earlier = &tagged.tag;
      if (it != index.end()) {
        tags[tagged.node.index()] = it->second;
      } else {
        note_unknown(DescribeNode(graph, tagged.node));
      }
    }
    return table;
  }

  int32_t Of(GraphId graph, NodeId node) const {
    const std::vector<int32_t>& tags = tags_[graph.index()];
    return tags.empty() ? kNone : tags[node.index()];
  }

 private:
  std::vector<std::vector<int32_t>> tags_;  // by graph and node; an empty row has no tags
};

GraphPlan GroupByTag(const ExportedProgram& program, GraphId id, const TagTable& tags,
                     const PartitionResult& answer) {
  const Graph& graph = program.graphs[id];
  GraphPlan plan{.graph = id};
  plan.partition_of.assign(graph.node_id_limit(), -1);
  std::vector<std::vector<NodeId>> by_tag(answer.delegation.size());
  for (NodeId node : graph.nodes()) {
    const int32_t tag = tags.Of(id, node);
    if (tag != TagTable::kNone) by_tag[tag].push_back(node);
  }
  for (size_t tag = 0; tag < by_tag.size(); ++tag) {
    if (by_tag[tag].empty()) continue;
    for (NodeId node : by_tag[tag]) {
      plan.partition_of[node.index()] = static_cast<int32_t>(plan.partitions.size());
    }
    plan.partitions.push_back({.graph = id,
                               .tag = answer.delegation[tag].first,
                               .delegation = &answer.delegation[tag].second,
                               .nodes = std::move(by_tag[tag])});
  }
  return plan;
}

// Pairs each call of a module with its next call. A node is listed once per module.
std::vector<std::pair<NodeId, NodeId>> InSequence(const std::vector<StatefulCall>& calls) {
  std::vector<std::pair<NodeId, NodeId>> pairs;
  absl::flat_hash_map<ModuleId, NodeId> last;
  for (const StatefulCall& call : calls) {
    const auto [it, added] = last.try_emplace(call.module, call.node);
    if (!added) pairs.emplace_back(it->second, call.node);
    it->second = call.node;
  }
  return pairs;
}

// Arguments in order of first use, results in order of definition.
void FindBoundary(const ExportedProgram& program, const MethodPlan& method, GraphPlan& plan) {
  const Graph& graph = program.graphs[plan.graph];
  const bool top = plan.graph == ExportedProgram::kTop;
  std::vector<bool> returned(graph.value_id_limit());
  for (size_t k = 0; k < graph.outputs().size(); ++k) {
    if (top && method.output_moves[k]) continue;
    ForEachValue(graph.outputs()[k], [&](ValueId value) { returned[value.index()] = true; });
  }
  // The last partition that has the value as argument, or owns it.
  std::vector<int32_t> taken_by(graph.value_id_limit(), -1);
  for (size_t p = 0; p < plan.partitions.size(); ++p) {
    Partition& partition = plan.partitions[p];
    const auto index = static_cast<int32_t>(p);
    for (const OwnedConstant& constant : partition.constants) {
      taken_by[constant.value.index()] = index;
    }
    const auto is_inside = [&](NodeId node) {
      return node.valid() && plan.partition_of[node.index()] == index;
    };
    for (NodeId node : partition.nodes) {
      for (const Argument& argument : graph.node(node).arguments) {
        ForEachValue(argument, [&](ValueId value) {
          if (taken_by[value.index()] == index || is_inside(graph.value(value).producer)) return;
          taken_by[value.index()] = index;
          partition.arguments.push_back(value);
        });
      }
      for (const NodeOutput& output : graph.node(node).outputs) {
        for (ValueId value : output.values) {
          const std::vector<NodeId>& users = graph.value(value).users;
          if (returned[value.index()] || !std::all_of(users.begin(), users.end(), is_inside)) {
            partition.results.push_back(value);
          }
        }
      }
    }
  }
}

void CollectByBackend(MethodPlan& plan) {
  absl::flat_hash_map<std::string_view, size_t> index;
  for (size_t g = 0; g < plan.graphs.size(); ++g) {
    for (const Partition& partition : plan.graphs[g].partitions) {
      if (index.emplace(partition.delegation->backend_id, plan.by_backend.size()).second) {
        plan.by_backend.emplace_back(partition.delegation->backend_id,
                                     std::vector<std::pair<size_t, size_t>>());
      }
    }
    for (const PlanUnit& unit : plan.graphs[g].order) {
      if (unit.partition < 0) continue;
      const Partition& partition = plan.graphs[g].partitions[unit.partition];
      plan.by_backend[index[partition.delegation->backend_id]].second.emplace_back(g,
                                                                                   unit.partition);
    }
  }
}

}  // namespace

absl::StatusOr<MethodPlan> PlanPartitions(const ExportedProgram& program,
                                          const PartitionResult& answer,
                                          const StateElsewhere& elsewhere, bool validate,
                                          std::vector<std::string>* notes) {
  ABSL_ASSIGN_OR_RETURN(const TagTable tags, TagTable::Create(program, answer, validate, notes));
  MethodPlan plan;
  const StatefulCalls calls = FindStatefulCalls(program);
  std::vector<GraphId> pending = {ExportedProgram::kTop};
  while (!pending.empty()) {
    const GraphId id = pending.back();
    pending.pop_back();
    const Graph& graph = program.graphs[id];
    GraphPlan graph_plan = GroupByTag(program, id, tags, answer);
    if (!calls.empty()) graph_plan.in_sequence = InSequence(calls[id.index()]);
    ABSL_RETURN_IF_ERROR(OrderContracted(graph, graph_plan));
    const size_t first_body = pending.size();
    for (NodeId node : graph.nodes()) {
      if (graph_plan.partition_of[node.index()] >= 0) continue;
      ForEachSubgraph(graph.node(node), [&](GraphId body) { pending.push_back(body); });
    }
    std::reverse(pending.begin() + static_cast<ptrdiff_t>(first_body), pending.end());
    plan.graphs.push_back(std::move(graph_plan));
  }
  ABSL_RETURN_IF_ERROR(CheckStatefulCalls(program, calls, plan));
  ABSL_RETURN_IF_ERROR(AssignConstants(program, answer, elsewhere, validate, plan, notes));
  for (GraphPlan& graph : plan.graphs) FindBoundary(program, plan, graph);
  CollectByBackend(plan);
  return plan;
}

}  // namespace belay::exir
