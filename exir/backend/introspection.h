// Queries on lowered programs: delegate calls, delegated nodes, and nodes that were not delegated.
//
// Source: docs/lowering.md rows 49, 55.
#ifndef BELAY_EXIR_BACKEND_INTROSPECTION_H_
#define BELAY_EXIR_BACKEND_INTROSPECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "exir/ir/exported_program.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {

// A delegate call. `module` is valid for the lifetime of the program.
struct DelegateCall {
  GraphId graph;
  NodeId node;
  ModuleId id;
  const LoweredBackendModule* module = nullptr;  // never null: modules of a program are never null
};
// Returns the delegate calls of one graph in graph order.
std::vector<DelegateCall> DelegateCalls(const ExportedProgram& program, GraphId graph);
// Returns those of all graphs, in order of the graph ids. Delegates inside delegates do not count.
std::vector<DelegateCall> DelegateCalls(const ExportedProgram& program);

// Returns whether the results of a call depend on earlier calls: the module, or a module that it
// calls, writes to tensors that it owns.
bool KeepsState(const LoweredBackendModule& module);

// Returns the largest debug handle of all graphs and of all programs of delegates, nested delegates
// included.
int64_t MaxDebugHandle(const ExportedProgram& program);

// A control-flow subgraph: an argument of `node`.
struct ControlFlowBody {
  NodeId node;
  size_t argument = 0;
  GraphId body;
};
// Returns the subgraphs of a graph's own nodes (not nested ones), of all kinds of control flow, in
// order of the nodes and their arguments.
std::vector<ControlFlowBody> ControlFlowBodies(const Graph& graph);
// Calls `fn` for each node of the top graph, then of its subgraphs, then of theirs (breadth first).
void ForEachNode(const ExportedProgram& program, const std::function<void(GraphId, NodeId)>& fn);
// Returns whether any graph calls one of the operators. ATen, edge and backend overloads compare
// equal.
bool CallsAnyOf(const ExportedProgram& program, const std::vector<const OpOverload*>& ops);

// Returns the nodes of a graph that are not delegate calls.
std::vector<NodeId> NonLoweredNodes(const Graph& graph);

struct DelegationInfo {
  size_t delegate_calls = 0;
  size_t delegated_nodes = 0, non_delegated_nodes = 0;
  struct Count {
    size_t delegated = 0, non_delegated = 0;
  };
  absl::btree_map<std::string, Count> by_op;  // by OpOverload::name()
  // One line per operator and a line "Total".
  std::string ToTable() const;
};
// Counts nodes of all graphs, and of all graphs of the delegates' programs. A nested delegate
// counts by its own nodes.
DelegationInfo CountDelegation(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_INTROSPECTION_H_
