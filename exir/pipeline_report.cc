#include "exir/pipeline_report.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "exir/flop_count.h"
#include "exir/ir/lowered_backend_module.h"

namespace belay::exir {
namespace {

uint64_t ConstantBytes(const ExportedProgram& program) {
  uint64_t bytes = 0;
  for (const ConstantMap* map : {&program.state_dict, &program.constants}) {
    for (const auto& [name, tensor] : *map) bytes += tensor.view().nbytes();
  }
  return bytes;
}

// Adds the cost of one delegate to that of several.
void AddCost(const DelegateCost& cost, DelegateCost& sum) {
  sum.memory_bytes += cost.memory_bytes;
  sum.kernel_calls += cost.kernel_calls;
  for (const DelegateCost::GenericKernel& kernel : cost.generic) {
    const auto same =
        absl::c_find_if(sum.generic, [&](const auto& k) { return k.op == kernel.op; });
    if (same == sum.generic.end()) {
      sum.generic.push_back(kernel);
    } else {
      same->calls += kernel.calls;
      same->bytes += kernel.bytes;
    }
  }
}

bool IsDelegateCall(const Node& node, const OpRegistry& ops) {
  return node.target == ops.CallDelegate();
}

// Rejection reasons of the partitioners by method, graph and node; each reason once.
using Reasons =
    absl::btree_map<std::tuple<std::string, std::string, std::string>, std::vector<std::string>>;

Reasons ReasonsOf(const std::vector<RejectedNode>& rejections) {
  Reasons reasons;
  for (const auto& [method, graph, node, reason] : rejections) {
    std::vector<std::string>& all = reasons[{method, graph, node}];
    if (!absl::c_linear_search(all, reason)) all.push_back(reason);
  }
  return reasons;
}

void ReportMethod(const std::string& method, const ExportedProgram& program, const Reasons& reasons,
                  PipelineReport& report) {
  DelegationReport left{.method = method, .backend_id = ""};
  std::vector<DelegationReport> backends;
  const std::vector<double> runs = RunsOfGraphs(program);
  for (uint32_t g = 0; g < program.graphs.size(); ++g) {
    const Graph& graph = program.graphs[GraphId(g)];
    for (NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (!IsDelegateCall(node, *program.ops)) {
        ++left.nodes;
        const double flops = runs[g] * FlopsOf(program, graph, node);
        left.flops += flops;
        const auto reason = reasons.find({method, graph.name(), node.name});
        report.left_over.push_back({.method = method,
                                    .graph = graph.name(),
                                    .node = node.name,
                                    .op = node.target->text_name(),
                                    .source = node.provenance.ToString(),
                                    .reason = reason == reasons.end()
                                                  ? "no partitioner requested it"
                                                  : absl::StrJoin(reason->second, "; "),
                                    .flops = flops});
        continue;
      }
      const ModuleId* module = node.arguments[0].get_if<ModuleId>();
      if (module == nullptr) continue;
      const LoweredBackendModule& lowered = *program.lowered_modules[*module];
      DelegationReport* entry = nullptr;
      for (DelegationReport& b : backends) {
        if (b.backend_id == lowered.backend_id) entry = &b;
      }
      if (entry == nullptr) {
        entry = &backends.emplace_back(
            DelegationReport{.method = method, .backend_id = lowered.backend_id});
      }
      if (!lowered.delegate_info.empty()) {
        report.delegate_info.push_back(
            {.method = method,
             .backend_id = lowered.backend_id,
             .node = node.name,
             .lines = absl::StrSplit(absl::StripSuffix(lowered.delegate_info, "\n"), '\n')});
      }
      AddCost(lowered.cost, entry->cost);
      ++entry->delegate_calls;
      entry->flops += runs[g] * FlopsOf(lowered.original);
      for (const Graph& inner : lowered.original.graphs) entry->nodes += inner.num_nodes();
      entry->constant_bytes += ConstantBytes(lowered.original);
    }
  }
  left.constant_bytes = ConstantBytes(program);
  for (DelegationReport& b : backends) {
    absl::c_sort(b.cost.generic, [](const auto& x, const auto& y) {
      return std::tie(y.bytes, x.op) < std::tie(x.bytes, y.op);
    });
    report.delegation.push_back(std::move(b));
  }
  report.delegation.push_back(std::move(left));
}

}  // namespace

void ReportDelegation(const MethodPrograms& methods, const std::vector<RejectedNode>& rejections,
                      PipelineReport& report) {
  const Reasons reasons = ReasonsOf(rejections);
  for (const auto& [name, program] : methods) ReportMethod(name, program, reasons, report);
}

}  // namespace belay::exir
