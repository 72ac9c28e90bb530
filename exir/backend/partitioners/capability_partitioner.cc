#include "exir/backend/partitioners/capability_partitioner.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "exir/backend/partitioners/tag_constants.h"
#include "exir/ir/text.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {

absl::StatusOr<PartitionResult> AllNodePartitioner::Partition(
    const ExportedProgram& program) const {
  const Graph& graph = program.top();
  PartitionResult result;
  result.delegation = {{delegation_.backend_id, delegation_}};
  for (NodeId node : graph.nodes()) {
    result.nodes.push_back({ExportedProgram::kTop, node, delegation_.backend_id});
  }
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (NamesTensor(program.signature.inputs[i].kind)) {
      result.inputs.push_back({graph.inputs()[i], delegation_.backend_id});
    }
  }
  return result;
}

absl::StatusOr<PartitionResult> CapabilityPartitioner::Partition(
    const ExportedProgram& program) const {
  PartitionResult result;
  int64_t first_id = 0;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    const GraphId id(g);
    if (id != ExportedProgram::kTop && !options_.bodies) break;
    const Graph& graph = program.graphs[id];
    const auto supported = [&](NodeId node) {
      std::string reason = support_(program, id, node);
      if (reason.empty()) return true;
      result.rejections.push_back({id, node, std::move(reason)});
      return false;
    };
    std::vector<PartitionProposal> proposals;
    if (options_.groups != nullptr) {
      ABSL_ASSIGN_OR_RETURN(proposals, ProposeGroupedPartitions(graph, options_.groups(program, id),
                                                                supported, options_.proposal));
    } else {
      proposals = ProposePartitions(graph, supported, options_.proposal);
    }
    int64_t next_id = first_id;
    for (const PartitionProposal& proposal : proposals) {
      const std::string tag = absl::StrCat(options_.tag_prefix, first_id + proposal.id);
      next_id = std::max(next_id, first_id + proposal.id + 1);
      result.delegation.emplace_back(tag, delegation_);
      for (NodeId node : proposal.nodes) result.nodes.push_back({id, node, tag});
    }
    first_id = next_id;
  }
  if (options_.tag_constants) TagConstantData(program, result);
  if (options_.tag_mutated_buffers) TagMutatedBuffers(program, result);
  return result;
}

absl::StatusOr<ConfigPartitioner> ConfigPartitioner::Create(DelegationSpec delegation,
                                                            std::vector<NodeConfig> configs) {
  std::sort(configs.begin(), configs.end(),
            [](const NodeConfig& a, const NodeConfig& b) { return a.op < b.op; });
  for (size_t i = 1; i < configs.size(); ++i) {
    if (configs[i].op == configs[i - 1].op) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are two configurations for the operator ", configs[i].op));
    }
  }
  return ConfigPartitioner(std::move(delegation), std::move(configs));
}

const NodeConfig* ConfigPartitioner::Find(std::string_view op) const {
  const auto it = std::lower_bound(
      configs_.begin(), configs_.end(), op,
      [](const NodeConfig& config, std::string_view name) { return config.op < name; });
  return it != configs_.end() && it->op == op ? &*it : nullptr;
}

absl::StatusOr<PartitionResult> ConfigPartitioner::Partition(const ExportedProgram& program) const {
  PartitionResult result;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    const GraphId id(g);
    const Graph& graph = program.graphs[id];
    std::vector<uint32_t> parent(graph.node_id_limit());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](uint32_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    std::vector<bool> taken(graph.node_id_limit(), false);
    for (NodeId node : graph.nodes()) {
      const NodeConfig* config = Find(graph.node(node).target->name());
      if (config == nullptr) {
        result.rejections.push_back({id, node, "no configuration for the operator"});
        continue;
      }
      std::string reason = config->check == nullptr ? "" : config->check(program, id, node);
      if (!reason.empty()) {
        result.rejections.push_back({id, node, std::move(reason)});
        continue;
      }
      const std::vector<NodeId> members =
          config->nodes == nullptr ? std::vector<NodeId>{node} : config->nodes(program, id, node);
      for (NodeId member : members) {
        if (!graph.contains(member)) {
          return absl::InvalidArgumentError(
              absl::StrCat("the configuration of ", config->op, " names node ", member.index(),
                           ", which is not in the graph, for ", DescribeNode(graph, node)));
        }
        taken[member.index()] = true;
        parent[root(member.index())] = root(members.front().index());
      }
    }
    absl::flat_hash_map<uint32_t, size_t> delegation_of;
    for (NodeId node : graph.nodes()) {
      if (!taken[node.index()]) continue;
      const auto [it, added] = delegation_of.emplace(root(node.index()), result.delegation.size());
      if (added) {
        result.delegation.emplace_back(absl::StrCat("tag", result.delegation.size()), delegation_);
      }
      result.nodes.push_back({id, node, result.delegation[it->second].first});
    }
  }
  TagConstantData(program, result);
  return result;
}

PreservedOps ConfigPartitioner::OpsToNotDecompose(const ExportedProgram&) const {
  PreservedOps preserved;
  for (const NodeConfig& config : configs_) {
    if (config.preserve != nullptr) preserved.ops.push_back(config.preserve);
  }
  if (preserved.ops.empty()) return preserved;
  preserved.filter = [configs = configs_](const ExportedProgram& program, GraphId graph,
                                          NodeId node) {
    const OpOverload* target = program.graphs[graph].node(node).target->aten();
    for (const NodeConfig& config : configs) {
      if (config.preserve == nullptr || config.preserve->aten() != target) continue;
      return config.check == nullptr || config.check(program, graph, node).empty();
    }
    return false;
  };
  return preserved;
}

}  // namespace belay::exir
