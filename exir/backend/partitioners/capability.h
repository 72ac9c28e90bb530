// Proposes partitions of the nodes that a backend supports: few and large, each convex, no two
// dependent on each other.
//
// Source: docs/lowering.md §2.24, §2.25, §11.9. The partitions are those of torch 2.13's
// CapabilityBasedPartitioner, computed in linear time. That algorithm can propose mutually
// dependent partitions (a path back through a third partition and an unsupported node); this one
// keeps them separate.
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/graph.h"

namespace belay::exir {

struct PartitionProposal {
  int64_t id = 0;             // increasing, with gaps
  std::vector<NodeId> nodes;  // in graph order
};

// Returns the used results of nodes with several results or list results, in order. Users are other
// nodes and graph outputs. ExecuTorch's graphs have a getitem node for each.
std::vector<ValueId> TakenResults(const Graph& graph);

struct ProposalOptions {
  // False: partitions with at most one compute node are dropped.
  bool allow_single_node = true;
  // OpOverload::name() of operators that do not count as compute nodes, and of those that count
  // twice.
  std::vector<std::string> non_compute_ops = {"aten.view.default", "aten.view_copy.default"};
  std::vector<std::string> allowed_single_node_ops = {};
  // Returns whether the getitem node of this result would be supported; ExecuTorch's graphs have
  // one for each used result of a multi-result node. If not, the producer and the users of the
  // result are in different partitions. Unset: without getitem nodes.
  std::function<bool(ValueId)> supports_result = nullptr;
};

// Adds each node to the last partition (in reverse graph order) that it can join without creating a
// path that re-enters the partition. Unconnected nodes may share a partition. O(nodes + uses).
std::vector<PartitionProposal> ProposePartitions(const Graph& graph,
                                                 const std::function<bool(NodeId)>& supported,
                                                 const ProposalOptions& options = {});

// The same, with the supported nodes of each group kept in one partition. If groups depend on each
// other, the later ones are split into single nodes. A group that a path leaves and re-enters is
// split as well. A group without conflicts with kept groups is kept, except at the ends of long
// chains of conflicts.
//   kInvalidArgument  a node is in two groups, or is not in the graph
// O((nodes + uses) * log groups).
absl::StatusOr<std::vector<PartitionProposal>> ProposeGroupedPartitions(
    const Graph& graph, const std::vector<std::vector<NodeId>>& groups,
    const std::function<bool(NodeId)>& supported, const ProposalOptions& options = {});

// docs/lowering.md row 37: partitions the nodes of the lists and those that `supported` accepts
// (may be null). `together`: each list is a group.
//   kInvalidArgument  neither lists nor `supported`; otherwise as ProposeGroupedPartitions
absl::StatusOr<std::vector<PartitionProposal>> ProposeFromNodeLists(
    const Graph& graph, const std::vector<std::vector<NodeId>>& lists,
    const std::function<bool(NodeId)>& supported, bool together = false,
    const ProposalOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_H_
