#include "exir/backend/lowering/module_state.h"

#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "exir/backend/introspection.h"
#include "exir/ir/lowered_backend_module.h"
#include "exir/ir/text.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

std::string DescribePlacement(const Graph& graph, NodeId node, const Partition* partition) {
  return absl::StrCat(partition == nullptr ? std::string("is not delegated")
                                           : absl::StrCat("has tag '", partition->tag, "'"),
                      ": ", DescribeNode(graph, node));
}

}  // namespace

StatefulCalls FindStatefulCalls(const ExportedProgram& program) {
  absl::flat_hash_set<ModuleId> stateful;
  for (uint32_t m = 0; m < program.lowered_modules.size(); ++m) {
    if (KeepsState(*program.lowered_modules[ModuleId(m)])) stateful.insert(ModuleId(m));
  }
  if (stateful.empty()) return {};
  StatefulCalls calls(program.graphs.size());
  // Each graph precedes its subgraphs. In reverse order, the calls of subgraphs are known before
  // the node that has them.
  struct Visit {
    GraphId graph;
    size_t parent;
    NodeId node;  // of the parent
    absl::btree_set<ModuleId> called = {};
  };
  std::vector<Visit> visits = {{ExportedProgram::kTop, 0, NodeId()}};
  for (size_t v = 0; v < visits.size(); ++v) {
    const Graph& graph = program.graphs[visits[v].graph];
    for (NodeId node : graph.nodes()) {
      ForEachSubgraph(graph.node(node), [&](GraphId body) { visits.push_back({body, v, node}); });
    }
  }
  std::vector<absl::flat_hash_map<NodeId, absl::btree_set<ModuleId>>> in_bodies(visits.size());
  for (size_t v = visits.size(); v-- > 0;) {
    Visit& visit = visits[v];
    const Graph& graph = program.graphs[visit.graph];
    std::vector<StatefulCall>& own = calls[visit.graph.index()];
    for (NodeId node : graph.nodes()) {
      for (const Argument& argument : graph.node(node).arguments) {
        const ModuleId* module = argument.get_if<ModuleId>();
        if (module != nullptr && stateful.contains(*module)) own.push_back({node, *module, true});
      }
      if (const auto inner = in_bodies[v].find(node); inner != in_bodies[v].end()) {
        for (ModuleId module : inner->second) own.push_back({node, module, false});
      }
    }
    for (const StatefulCall& call : own) visit.called.insert(call.module);
    if (v > 0) {
      in_bodies[visit.parent][visit.node].insert(visit.called.begin(), visit.called.end());
    }
  }
  return calls;
}

absl::Status CheckStatefulCalls(const ExportedProgram& program, const StatefulCalls& calls,
                                const MethodPlan& plan) {
  if (calls.empty()) return absl::OkStatus();
  struct Place {
    const Graph* graph;
    NodeId node;
    const Partition* partition;  // null: not delegated
  };
  absl::flat_hash_map<ModuleId, Place> places;
  for (const GraphPlan& graph_plan : plan.graphs) {
    const Graph& graph = program.graphs[graph_plan.graph];
    for (const StatefulCall& call : calls[graph_plan.graph.index()]) {
      const int32_t p = graph_plan.partition_of[call.node.index()];
      // Subgraphs of nodes that are not delegated have their own plans.
      if (p < 0 && !call.direct) continue;
      const Place place{&graph, call.node, p < 0 ? nullptr : &graph_plan.partitions[p]};
      const auto [it, added] = places.try_emplace(call.module, place);
      const Place& first = it->second;
      if (added || first.partition == place.partition) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "expected all calls of a stateful module in one delegate, or none delegated; of module#",
          call.module.index(), " (backend ", program.lowered_modules[call.module]->backend_id,
          ") one ", DescribePlacement(*first.graph, first.node, first.partition), "\n  and one ",
          DescribePlacement(graph, call.node, place.partition)));
    }
  }
  return absl::OkStatus();
}

}  // namespace belay::exir
