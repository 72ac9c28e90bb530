#include "tools/belay/lower_report.h"

#include <iostream>

#include "tools/belay/printing.h"

namespace belay::tools {

using nlohmann::json;

double DelegatedFlops(const exir::PipelineReport& report) {
  double all = 0, delegated = 0;
  for (const auto& d : report.delegation) {
    all += d.flops;
    if (!d.backend_id.empty()) delegated += d.flops;
  }
  return all == 0 ? 1 : delegated / all;
}

json LowerReportJson(const exir::PipelineReport& report, uint64_t file_bytes) {
  json out;
  out["file_bytes"] = file_bytes;
  out["phases"] = json::array();
  for (const auto& p : report.phases) {
    out["phases"].push_back(
        {{"name", p.name}, {"seconds", p.seconds}, {"peak_rss_bytes", p.peak_rss_bytes}});
  }
  out["passes"] = json::array();
  for (const auto& p : report.passes) {
    out["passes"].push_back({{"name", p.name},
                             {"seconds", p.seconds},
                             {"changed", p.changed},
                             {"nodes_before", p.nodes_before},
                             {"nodes_after", p.nodes_after}});
  }
  out["memory"] = json::array();
  for (const auto& m : report.memory) {
    out["memory"].push_back({{"method", m.method},
                             {"planner", m.memory.planner},
                             {"arena_bytes", m.memory.arena_bytes},
                             {"lower_bound_bytes", m.memory.lower_bound},
                             {"unshared_lower_bound_bytes", m.memory.written_lower_bound},
                             {"elided_instructions", m.memory.elided_instructions},
                             {"reordered", m.memory.reordered},
                             {"state_bytes", m.state_bytes}});
  }
  out["delegation"] = json::array();
  for (const auto& d : report.delegation) {
    out["delegation"].push_back({{"method", d.method},
                                 {"backend", d.backend_id},
                                 {"delegate_calls", d.delegate_calls},
                                 {"nodes", d.nodes},
                                 {"flops", d.flops},
                                 {"constant_bytes", d.constant_bytes}});
  }
  out["delegated_flops"] = DelegatedFlops(report);
  out["unchecked_guards"] = json::array();
  for (const auto& g : report.unchecked_guards) {
    out["unchecked_guards"].push_back({{"method", g.method}, {"guard", g.guard}});
  }
  out["notes"] = report.notes;
  out["left_over"] = json::array();
  for (const auto& n : report.left_over) {
    out["left_over"].push_back({{"method", n.method},
                                {"graph", n.graph},
                                {"node", n.node},
                                {"op", n.op},
                                {"source", n.source},
                                {"reason", n.reason},
                                {"flops", n.flops}});
  }
  return out;
}

void PrintLowerReport(const exir::PipelineReport& report, uint64_t file_bytes,
                      const std::string& path) {
  std::cout << OneLine(path) << ": " << file_bytes << " bytes\n";
  for (const auto& p : report.phases)
    std::cout << "  " << p.name << ": " << 1e3 * p.seconds << " ms\n";
  for (const auto& m : report.memory) {
    std::cout << "  method " << OneLine(m.method) << ": arena " << m.memory.arena_bytes
              << " bytes (at least " << m.memory.lower_bound << " needed), state " << m.state_bytes
              << " bytes\n";
  }
  for (const auto& d : report.delegation) {
    std::cout << "  method " << OneLine(d.method) << ": " << d.nodes << " nodes";
    if (d.backend_id.empty()) {
      std::cout << " run on kernels";
    } else {
      std::cout << " in " << d.delegate_calls << " delegates of " << OneLine(d.backend_id);
    }
    std::cout << ", " << 1e-6 * d.flops << " million floating-point operations\n";
  }
}

}  // namespace belay::tools
