#include "exir/backend/introspection.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

bool WritesToItsTensors(const ExportedProgram& program) {
  return std::any_of(program.signature.outputs.begin(), program.signature.outputs.end(),
                     [](const OutputSpec& spec) { return IsStateMutation(spec.kind); });
}

// Returns nullptr for a node that is not a delegate call.
const ModuleId* CalledModule(const Node& node) {
  return node.argument("module").get_if<ModuleId>();
}

}  // namespace

std::vector<DelegateCall> DelegateCalls(const ExportedProgram& program, GraphId graph) {
  std::vector<DelegateCall> calls;
  const Graph& g = program.graphs[graph];
  for (NodeId node : g.nodes()) {
    const ModuleId* module = CalledModule(g.node(node));
    if (module == nullptr || !program.lowered_modules.contains(*module)) continue;
    calls.push_back({graph, node, *module, program.lowered_modules[*module].get()});
  }
  return calls;
}

std::vector<DelegateCall> DelegateCalls(const ExportedProgram& program) {
  std::vector<DelegateCall> calls;
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    const std::vector<DelegateCall> more = DelegateCalls(program, GraphId(g));
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

bool KeepsState(const LoweredBackendModule& module) {
  std::vector<const LoweredBackendModule*> pending = {&module};
  absl::flat_hash_set<const LoweredBackendModule*> seen = {&module};
  while (!pending.empty()) {
    const ExportedProgram& program = pending.back()->original;
    pending.pop_back();
    if (WritesToItsTensors(program)) return true;
    for (const auto& inner : program.lowered_modules) {
      if (seen.insert(inner.get()).second) pending.push_back(inner.get());
    }
  }
  return false;
}

int64_t MaxDebugHandle(const ExportedProgram& program) {
  int64_t max = 0;
  std::vector<const ExportedProgram*> pending = {&program};
  while (!pending.empty()) {
    const ExportedProgram& current = *pending.back();
    pending.pop_back();
    for (const Graph& graph : current.graphs) {
      for (NodeId node : graph.nodes()) max = std::max(max, graph.node(node).debug_handle);
    }
    for (const auto& module : current.lowered_modules) pending.push_back(&module->original);
  }
  return max;
}

std::vector<ControlFlowBody> ControlFlowBodies(const Graph& graph) {
  std::vector<ControlFlowBody> bodies;
  for (NodeId node : graph.nodes()) {
    const std::vector<Argument>& arguments = graph.node(node).arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      ForEachGraph(arguments[i], [&](GraphId body) { bodies.push_back({node, i, body}); });
    }
  }
  return bodies;
}

void ForEachNode(const ExportedProgram& program, const std::function<void(GraphId, NodeId)>& fn) {
  std::vector<GraphId> order = {ExportedProgram::kTop};
  for (size_t i = 0; i < order.size(); ++i) {
    const Graph& graph = program.graphs[order[i]];
    for (NodeId node : graph.nodes()) fn(order[i], node);
    for (const ControlFlowBody& body : ControlFlowBodies(graph)) order.push_back(body.body);
  }
}

bool CallsAnyOf(const ExportedProgram& program, const std::vector<const OpOverload*>& ops) {
  absl::flat_hash_set<const OpOverload*> wanted;
  for (const OpOverload* op : ops) wanted.insert(op->aten());
  for (const Graph& graph : program.graphs) {
    for (NodeId node : graph.nodes()) {
      if (wanted.contains(graph.node(node).target->aten())) return true;
    }
  }
  return false;
}

std::vector<NodeId> NonLoweredNodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (NodeId node : graph.nodes()) {
    if (CalledModule(graph.node(node)) == nullptr) nodes.push_back(node);
  }
  return nodes;
}

DelegationInfo CountDelegation(const ExportedProgram& program) {
  DelegationInfo info;
  info.delegate_calls = DelegateCalls(program).size();
  std::vector<std::pair<const ExportedProgram*, bool>> pending = {{&program, false}};
  while (!pending.empty()) {
    const auto [current, delegated] = pending.back();
    pending.pop_back();
    for (const Graph& graph : current->graphs) {
      for (NodeId node : NonLoweredNodes(graph)) {
        DelegationInfo::Count& count = info.by_op[graph.node(node).target->name()];
        ++(delegated ? count.delegated : count.non_delegated);
        ++(delegated ? info.delegated_nodes : info.non_delegated_nodes);
      }
    }
    for (const DelegateCall& call : DelegateCalls(*current)) {
      pending.emplace_back(&call.module->original, true);
    }
  }
  return info;
}

std::string DelegationInfo::ToTable() const {
  std::vector<std::vector<std::string>> rows = {{"operator", "delegated", "not delegated"}};
  for (const auto& [op, count] : by_op) {
    rows.push_back({op, absl::StrCat(count.delegated), absl::StrCat(count.non_delegated)});
  }
  rows.push_back({"Total", absl::StrCat(delegated_nodes), absl::StrCat(non_delegated_nodes)});
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string table;
  for (const auto& row : rows) {
    absl::StrAppend(&table, row[0], std::string(widths[0] - row[0].size(), ' '));
    for (size_t c = 1; c < row.size(); ++c) {
      absl::StrAppend(&table, "  ", std::string(widths[c] - row[c].size(), ' '), row[c]);
    }
    table += "\n";
  }
  return table;
}

}  // namespace belay::exir
