// Looks at lowered programs: which calls there are, what was delegated, what was not.
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

// A delegate call; `module` lives as long as the program.
struct DelegateCall {
  GraphId graph;
  NodeId node;
  ModuleId id;
  const LoweredBackendModule* module = nullptr;  // never null: a program's modules are none
};
// Those of one graph, in its order.
std::vector<DelegateCall> DelegateCalls(const ExportedProgram& program, GraphId graph);
// Those of all graphs, in order of the graphs' ids. Delegates inside of delegates do not count.
std::vector<DelegateCall> DelegateCalls(const ExportedProgram& program);

// Whether what a call gives depends on earlier calls: the module writes to tensors that it owns, or
// a module that it calls does.
bool KeepsState(const LoweredBackendModule& module);

// The largest debug handle in all graphs, and in all programs of delegates, theirs included.
int64_t MaxDebugHandle(const ExportedProgram& program);

// A body of control flow: `node` of the graph has it as argument.
struct ControlFlowBody {
  NodeId node;
  size_t argument = 0;
  GraphId body;
};
// The bodies of a graph's own nodes (not of bodies within them), of all kinds of control flow, in
// order of the nodes and their arguments.
std::vector<ControlFlowBody> ControlFlowBodies(const Graph& graph);
// Calls `fn` for each node of the top graph, then of its bodies, then of theirs (breadth first).
void ForEachNode(const ExportedProgram& program, const std::function<void(GraphId, NodeId)>& fn);
// Whether any graph calls one of the operators; ATen, edge and backend overloads are the same.
bool CallsAnyOf(const ExportedProgram& program, const std::vector<const OpOverload*>& ops);

// The nodes of a graph that are no delegate calls.
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
// Counts nodes of all graphs, and of all graphs of the delegates' programs (a delegate inside of a
// delegate counts by its own nodes).
DelegationInfo CountDelegation(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_INTROSPECTION_H_
