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

namespace {

// Tags the partitions that `propose` returns for each graph. Numbers of tags continue from graph to
// graph.
absl::StatusOr<PartitionResult> TagProposals(
    const ExportedProgram& program, const DelegationSpec& delegation,
    const CapabilityPartitionerOptions& options,
    const std::function<absl::StatusOr<std::vector<PartitionProposal>>(GraphId, PartitionResult&)>&
        propose) {
  PartitionResult result;
  int64_t first_id = 0;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    const GraphId id(g);
    if (id != ExportedProgram::kTop && !options.bodies) break;
    ABSL_ASSIGN_OR_RETURN(const std::vector<PartitionProposal> proposals, propose(id, result));
    int64_t next_id = first_id;
    for (const PartitionProposal& proposal : proposals) {
      const std::string tag = absl::StrCat(options.tag_prefix, first_id + proposal.id);
      next_id = std::max(next_id, first_id + proposal.id + 1);
      result.delegation.emplace_back(tag, delegation);
      for (NodeId node : proposal.nodes) result.nodes.push_back({id, node, tag});
    }
    first_id = next_id;
  }
  if (options.tag_constants) TagConstantData(program, result);
  if (options.tag_mutated_buffers) TagMutatedBuffers(program, result);
  return result;
}

}  // namespace

absl::StatusOr<PartitionResult> CapabilityPartitioner::Partition(
    const ExportedProgram& program) const {
  return TagProposals(
      program, delegation_, options_,
      [&](GraphId id, PartitionResult& result) -> absl::StatusOr<std::vector<PartitionProposal>> {
        const Graph& graph = program.graphs[id];
        const auto supported = [&](NodeId node) {
          std::string reason = support_(program, id, node);
          if (reason.empty()) return true;
          result.rejections.push_back({id, node, std::move(reason)});
          return false;
        };
        if (options_.groups == nullptr) {
          return ProposePartitions(graph, supported, options_.proposal);
        }
        return ProposeGroupedPartitions(graph, options_.groups(program, id), supported,
                                        options_.proposal);
      });
}

absl::StatusOr<PartitionResult> PatternPartitioner::Partition(
    const ExportedProgram& program) const {
  if (patterns_.empty() && options_.support == nullptr) {
    return absl::InvalidArgumentError(
        "expected patterns or a predicate of supported nodes, got neither");
  }
  return TagProposals(
      program, delegation_, options_.capability,
      [&](GraphId id, PartitionResult& result) -> absl::StatusOr<std::vector<PartitionProposal>> {
        const Graph& graph = program.graphs[id];
        std::vector<std::vector<NodeId>> found;
        std::vector<bool> matched(graph.node_id_limit(), false);
        for (const auto& pattern : patterns_) {
          ABSL_ASSIGN_OR_RETURN(std::vector<std::vector<NodeId>> occurrences,
                                FindPattern(graph, pattern->top(), options_.match));
          for (std::vector<NodeId>& occurrence : occurrences) {
            // A node belongs to the first pattern that matches it.
            std::erase_if(occurrence, [&](NodeId node) { return matched[node.index()]; });
            for (NodeId node : occurrence) matched[node.index()] = true;
            if (!occurrence.empty()) found.push_back(std::move(occurrence));
          }
        }
        // Called for nodes without an occurrence.
        const auto supported = [&](NodeId node) {
          std::string reason = options_.support == nullptr ? "no pattern matches"
                                                           : options_.support(program, id, node);
          if (reason.empty()) return true;
          result.rejections.push_back({id, node, std::move(reason)});
          return false;
        };
        return ProposeFromNodeLists(graph, found, supported, options_.keep_together,
                                    options_.capability.proposal);
      });
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
  if (const NodeConfig* exact = FindExactly(op)) return exact;
  const size_t dot = op.find('.');
  return dot == std::string_view::npos ? nullptr : FindExactly(op.substr(dot + 1));
}

const NodeConfig* ConfigPartitioner::FindExactly(std::string_view op) const {
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
