#include "tools/belay/lower_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tools/belay/printing.h"

namespace belay::tools {

using nlohmann::json;

namespace {

// Prints the share of each backend in the method's operations, one line each, and the kernels'
// share.
void PrintDelegation(const exir::PipelineReport& report, const std::string& method,
                     std::ostream& out) {
  double flops = 0;
  size_t nodes = 0;
  for (const exir::DelegationReport& d : report.delegation) {
    if (d.method != method) continue;
    flops += d.flops;
    nodes += d.nodes;
  }
  for (const exir::DelegationReport& d : report.delegation) {
    if (d.method != method || (d.backend_id.empty() && d.nodes == 0)) continue;
    out << "  " << (d.backend_id.empty() ? "kernels" : OneLine(d.backend_id)) << ": " << d.nodes
        << " of " << nodes << " nodes";
    if (!d.backend_id.empty()) {
      out << " in " << d.delegate_calls << (d.delegate_calls == 1 ? " delegate" : " delegates");
    }
    if (flops > 0) {
      out << ", " << absl::StrFormat("%.1f", 100 * d.flops / flops) << " % of "
          << WithUnit(flops, "FLOP");
    }
    out << ", " << WithUnit(static_cast<double>(d.constant_bytes), "B") << " of constants\n";
  }
}

// Prints for each backend which of its kernel calls are generic, and how much memory they access.
void PrintGenericKernels(const exir::PipelineReport& report, const std::string& method,
                         std::ostream& out) {
  constexpr size_t kOperators = 3;
  for (const exir::DelegationReport& d : report.delegation) {
    if (d.method != method || d.cost.generic.empty()) continue;
    size_t calls = 0;
    double bytes = 0;
    for (const auto& kernel : d.cost.generic) {
      calls += kernel.calls;
      bytes += kernel.bytes;
    }
    out << "  generic kernels in " << OneLine(d.backend_id) << ": " << calls << " of "
        << d.cost.kernel_calls << (d.cost.kernel_calls == 1 ? " call, " : " calls, ")
        << WithUnit(bytes, "B") << " read and written (";
    for (size_t i = 0; i < std::min(kOperators, d.cost.generic.size()); ++i) {
      const auto& kernel = d.cost.generic[i];
      out << (i == 0 ? "" : ", ") << kernel.calls << " " << kernel.op << " "
          << WithUnit(kernel.bytes, "B");
    }
    out << (d.cost.generic.size() > kOperators ? ", …)\n" : ")\n");
  }
}

// Returns the working memory of the method's delegates. Backends that do not report it count as 0.
uint64_t DelegateMemory(const exir::PipelineReport& report, const std::string& method) {
  uint64_t bytes = 0;
  for (const exir::DelegationReport& d : report.delegation) {
    if (d.method == method) bytes += d.cost.memory_bytes;
  }
  return bytes;
}

// Prints the use of each memory bank.
void PrintBanks(const exir::MethodMemory& memory, uint64_t delegate_bytes, std::ostream& out) {
  double moved = 0;
  for (const exir::BankUse& use : memory.banks) moved += static_cast<double>(use.moved);
  for (const exir::BankUse& use : memory.banks) {
    out << "  bank " << OneLine(use.bank.name) << ": "
        << WithUnit(static_cast<double>(use.bytes), "B");
    if (use.bank.bytes != exir::MemoryBank::kUnlimited) {
      out << " of " << WithUnit(static_cast<double>(use.bank.bytes), "B");
    }
    const double share = moved == 0 ? 0 : static_cast<double>(use.moved) / moved;
    out << ", " << std::lround(100 * share) << " % of the bytes read and written\n";
  }
  if (!memory.banks.empty() && delegate_bytes != 0) {
    out << "  the banks do not hold the memory of delegates; --backend none has no delegates\n";
  }
}

json GenericKernelsJson(const exir::DelegateCost& cost) {
  json kernels = json::array();
  for (const auto& kernel : cost.generic) {
    kernels.push_back({{"op", kernel.op}, {"calls", kernel.calls}, {"bytes", kernel.bytes}});
  }
  return kernels;
}

// Prints the most frequent reasons why nodes of the method were not delegated, with the source of
// the first such nodes. Prints nothing without partitioners.
void PrintRefusals(const exir::PipelineReport& report, const std::string& method,
                   std::ostream& out) {
  constexpr size_t kReasons = 4, kNodes = 2;
  std::map<std::string, std::vector<const exir::LeftOverNode*>> by_reason;
  bool delegated = false;
  for (const exir::DelegationReport& d : report.delegation) {
    delegated |= d.method == method && !d.backend_id.empty();
  }
  for (const exir::LeftOverNode& node : report.left_over) {
    if (node.method == method) by_reason[node.reason].push_back(&node);
  }
  if (!delegated && by_reason.size() <= 1) return;
  std::vector<std::pair<std::string, std::vector<const exir::LeftOverNode*>>> reasons(
      by_reason.begin(), by_reason.end());
  std::sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
    return std::pair(b.second.size(), a.first) < std::pair(a.second.size(), b.first);
  });
  for (size_t i = 0; i < std::min(kReasons, reasons.size()); ++i) {
    const auto& [reason, nodes] = reasons[i];
    out << "  not delegated, " << nodes.size() << (nodes.size() == 1 ? " node: " : " nodes: ")
        << OneLine(reason) << " (";
    for (size_t n = 0; n < std::min(kNodes, nodes.size()); ++n) {
      out << (n == 0 ? "" : ", ") << OneLine(nodes[n]->node);
      if (!nodes[n]->source.empty()) out << " at " << OneLine(nodes[n]->source);
    }
    out << (nodes.size() > kNodes ? ", …)\n" : ")\n");
  }
  if (reasons.size() > kReasons) {
    out << "  and " << reasons.size() - kReasons << " more reasons: see --report, --html\n";
  }
}

// Writes the state, grouped by the methods that have it: shared by name, or of one method only.
void WriteState(const exir::PipelineReport& report, std::ostream& out) {
  constexpr size_t kNames = 4;
  std::map<std::vector<std::string>, std::vector<const exir::StateReport*>> by_methods;
  for (const exir::StateReport& state : report.state) by_methods[state.methods].push_back(&state);
  for (const auto& [methods, buffers] : by_methods) {
    uint64_t bytes = 0;
    for (const exir::StateReport* state : buffers) bytes += state->bytes;
    out << (methods.size() == 1 ? "state that is not shared, of " : "state shared by ");
    for (size_t i = 0; i < methods.size(); ++i) {
      out << (i == 0 ? "" : ", ") << OneLine(methods[i]);
    }
    out << ": " << buffers.size() << (buffers.size() == 1 ? " buffer, " : " buffers, ")
        << WithUnit(static_cast<double>(bytes), "B") << " (";
    for (size_t i = 0; i < std::min(kNames, buffers.size()); ++i) {
      out << (i == 0 ? "" : ", ") << OneLine(buffers[i]->name) << " " << OneLine(buffers[i]->type);
    }
    out << (buffers.size() > kNames ? ", …)\n" : ")\n");
  }
}

}  // namespace

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
                             {"delegate_bytes", DelegateMemory(report, m.method)},
                             {"state_bytes", m.state_bytes}});
    for (const exir::BankUse& use : m.memory.banks) {
      json bank{{"name", use.bank.name},
                {"alignment", use.bank.alignment},
                {"bytes", use.bytes},
                {"moved_bytes", use.moved}};
      if (use.bank.bytes != exir::MemoryBank::kUnlimited) bank["capacity_bytes"] = use.bank.bytes;
      out["memory"].back()["banks"].push_back(std::move(bank));
    }
  }
  out["delegation"] = json::array();
  for (const auto& d : report.delegation) {
    out["delegation"].push_back({{"method", d.method},
                                 {"backend", d.backend_id},
                                 {"delegate_calls", d.delegate_calls},
                                 {"nodes", d.nodes},
                                 {"flops", d.flops},
                                 {"constant_bytes", d.constant_bytes},
                                 {"memory_bytes", d.cost.memory_bytes},
                                 {"kernel_calls", d.cost.kernel_calls},
                                 {"generic_kernels", GenericKernelsJson(d.cost)}});
  }
  out["state"] = json::array();
  for (const auto& s : report.state) {
    out["state"].push_back(
        {{"name", s.name}, {"type", s.type}, {"bytes", s.bytes}, {"methods", s.methods}});
  }
  out["delegated_flops"] = DelegatedFlops(report);
  out["unchecked_guards"] = json::array();
  for (const auto& g : report.unchecked_guards) {
    out["unchecked_guards"].push_back({{"method", g.method}, {"guard", g.guard}});
  }
  out["notes"] = report.notes;
  out["delegate_info"] = json::array();
  for (const auto& d : report.delegate_info) {
    out["delegate_info"].push_back(
        {{"method", d.method}, {"backend", d.backend_id}, {"node", d.node}, {"lines", d.lines}});
  }
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

void WriteLowerReport(const exir::PipelineReport& report, uint64_t file_bytes,
                      const std::string& path, std::ostream& out) {
  const auto bold = [&](const std::string& text) { return &out == &std::cout ? Bold(text) : text; };
  double seconds = 0;
  const exir::PhaseReport* longest = nullptr;
  for (const exir::PhaseReport& phase : report.phases) {
    seconds += phase.seconds;
    if (longest == nullptr || phase.seconds > longest->seconds) longest = &phase;
  }
  out << bold(OneLine(path)) << ": " << WithUnit(static_cast<double>(file_bytes), "B")
      << ", lowered in " << Duration(seconds);
  if (longest != nullptr) {
    out << ", longest phase: " << longest->name << ", " << Duration(longest->seconds);
  }
  out << "\n";
  for (const exir::MemoryReport& m : report.memory) {
    out << "method " << bold(OneLine(m.method)) << ": "
        << WithUnit(static_cast<double>(m.memory.arena_bytes), "B")
        << " for activations (peak live size "
        << WithUnit(static_cast<double>(m.memory.lower_bound), "B") << "), "
        << WithUnit(static_cast<double>(m.state_bytes), "B") << " of state";
    if (const uint64_t bytes = DelegateMemory(report, m.method); bytes != 0) {
      out << ", " << WithUnit(static_cast<double>(bytes), "B") << " in delegates";
    }
    out << "\n";
    PrintBanks(m.memory, DelegateMemory(report, m.method), out);
    PrintDelegation(report, m.method, out);
    PrintGenericKernels(report, m.method, out);
    PrintRefusals(report, m.method, out);
  }
  if (report.memory.size() > 1) WriteState(report, out);
}

}  // namespace belay::tools
