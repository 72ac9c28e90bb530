// Proposes partitions of the nodes that a backend supports: few and large, each convex, no two in
// need of each other.
//
// Source: docs/lowering.md §2.24, §2.25, §11.9. The partitions are those of torch 2.13's
// CapabilityBasedPartitioner, found in linear time; where that would propose partitions that need
// each other (a way back through a third partition and an unsupported node), this keeps them apart.
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
  int64_t id = 0;             // growing, with gaps
  std::vector<NodeId> nodes;  // in graph order
};

// The results of nodes that have several, or a list of them, that other nodes or the graph's
// outputs take, in order: where ExecuTorch's graphs have a node that takes one (getitem).
std::vector<ValueId> TakenResults(const Graph& graph);

struct ProposalOptions {
  // False: partitions with at most one compute node are dropped.
  bool allow_single_node = true;
  // OpOverload::name() of operators that do not count as compute nodes, and of those that count
  // double.
  std::vector<std::string> non_compute_ops = {"aten.view.default", "aten.view_copy.default"};
  std::vector<std::string> allowed_single_node_ops = {};
  // Whether a node that takes this result of a node with several, as ExecuTorch's graphs have one
  // for each that is used, would be supported. One that is not keeps its node and those that use
  // the result apart. Unset: there are no such nodes.
  std::function<bool(ValueId)> supports_result = nullptr;
};

// A node joins the last partition (seen from the outputs) that it can join: one that no way from it
// re-enters. Unconnected nodes may share a partition. O(nodes + uses).
std::vector<PartitionProposal> ProposePartitions(const Graph& graph,
                                                 const std::function<bool(NodeId)>& supported,
                                                 const ProposalOptions& options = {});

// The same, with the supported nodes of each group kept together. Groups that need each other can't
// all be kept together: later ones are treated as single nodes, and so is a group that needs itself
// (a way leaves and re-enters it). A group that conflicts with none of those that are kept is kept,
// but for the ends of long chains of conflicts.
//   kInvalidArgument  a node is in two groups, or is not in the graph
// O((nodes + uses) * log groups).
absl::StatusOr<std::vector<PartitionProposal>> ProposeGroupedPartitions(
    const Graph& graph, const std::vector<std::vector<NodeId>>& groups,
    const std::function<bool(NodeId)>& supported, const ProposalOptions& options = {});

// docs/lowering.md row 37: takes the nodes of the lists and what `supported` takes besides, which may be
// null. `together`: each list is a group.
//   kInvalidArgument  neither lists nor `supported`; otherwise as ProposeGroupedPartitions
absl::StatusOr<std::vector<PartitionProposal>> ProposeFromNodeLists(
    const Graph& graph, const std::vector<std::vector<NodeId>>& lists,
    const std::function<bool(NodeId)>& supported, bool together = false,
    const ProposalOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_CAPABILITY_H_
