// The partitioning plan of one program, computed from the partitioner's answer before anything is
// built. Part of the implementation of to_backend.h.
#ifndef BELAY_EXIR_BACKEND_LOWERING_PARTITION_PLAN_H_
#define BELAY_EXIR_BACKEND_LOWERING_PARTITION_PLAN_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// A constant that a delegate owns.
struct OwnedConstant {
  size_t input;      // position among the top graph's inputs
  ValueId value;     // input of the partition's graph
  std::string name;  // of the subprogram's input
};
// A mutation that moves into a delegate.
struct OwnedMutation {
  size_t output;  // position among the top graph's outputs
  ValueId value;  // the buffer's new value
};

// The nodes of one graph with one tag: one delegate call.
struct Partition {
  GraphId graph;
  std::string tag;
  const DelegationSpec* delegation = nullptr;
  std::vector<NodeId> nodes;                  // in graph order
  std::vector<OwnedConstant> constants = {};  // in signature order
  std::vector<OwnedMutation> mutations = {};  // in order of the values, then of the outputs
  std::vector<ValueId> arguments = {};        // of the call, in order of first use
  std::vector<ValueId> results = {};          // of the call, in order of definition
};

// A node that is not delegated, or all nodes of a partition.
struct PlanUnit {
  NodeId node;
  int32_t partition = -1;  // >= 0: index into GraphPlan::partitions
};

struct GraphPlan {
  GraphId graph;
  std::vector<Partition> partitions = {};  // in the order of the tags
  std::vector<int32_t> partition_of = {};  // by node index; -1: not delegated
  // (earlier, later): nodes without data dependence whose order must be kept.
  std::vector<std::pair<NodeId, NodeId>> in_sequence = {};
  std::vector<PlanUnit> order = {};  // a topological order of the resulting graph
  // By position: whether the input moves into delegates and leaves the graph.
  std::vector<bool> input_moves = {};
  // Elements of list arguments of control-flow nodes that move: (node, argument, element).
  absl::flat_hash_set<std::tuple<NodeId, size_t, size_t>> operand_moves = {};
};

// State of the other methods: maps a tensor name to a method that has it. `present`: all buffers
// and parameters; `written`: those that a method writes to.
struct StateElsewhere {
  absl::flat_hash_map<std::string, std::string> present = {}, written = {};
};

struct MethodPlan {
  // The top graph, then the subgraphs of nodes that are not delegated: depth first, in the order of
  // the nodes and their arguments.
  std::vector<GraphPlan> graphs;
  // By position in the top graph: whether the output moves into a delegate.
  std::vector<bool> output_moves;
  // Partitions by backend, as (index into graphs, index into partitions), in the order in which the
  // backend gets them. Backends are in the order in which tags first name them.
  std::vector<std::pair<std::string, std::vector<std::pair<size_t, size_t>>>> by_backend;

  bool empty() const { return by_backend.empty(); }
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_LOWERING_PARTITION_PLAN_H_
