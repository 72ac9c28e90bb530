#include "tools/belay/program_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "exir/compare/call.h"
#include "exir/emit/program_image.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/trace/event_log.h"
#include "runtime/trace/hardware_counters.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/module_losses.h"
#include "tools/belay/printing.h"
#include "tools/belay/profile_calls.h"
#include "tools/belay/program_file.h"
#include "tools/belay/session.h"
#include "tools/profile/code_map.h"

namespace belay::tools {
namespace {

constexpr int kCalls = 15;
constexpr size_t kMaxEvents = 100'000;
constexpr int64_t kDynamicSize = 64;  // of random inputs; within the bounds of the program

// The time of a method, and of its modules.
struct Times {
  double call = 0;
  std::map<std::string, double> modules;
};

absl::StatusOr<Times> TimesOf(const Program& program, const std::string& name,
                              const KernelRegistry& kernels, ThreadPool& threads) {
  HardwareCounters counters;
  ABSL_ASSIGN_OR_RETURN(const auto log, EventLog::Create(kMaxEvents));
  ABSL_ASSIGN_OR_RETURN(const std::unique_ptr<Method> method,
                        LoadMethod(program, name, kernels,
                                   {.threads = &threads, .events = EventSink{.log = log.get()}}));
  ABSL_ASSIGN_OR_RETURN(
      const CallInputs inputs,
      RandomInputs(method->plan(), /*seed=*/1, DynamicSizeFor(program, kDynamicSize)));
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method->SetInput(i, inputs.values[i]));
  }
  ABSL_RETURN_IF_ERROR(method->Execute());  // CodeMap needs a call
  CodeMap code(*method);
  ABSL_ASSIGN_OR_RETURN(const nlohmann::json report,
                        ProfileCalls(*method, *log, kCalls, counters, code));
  Times times;
  times.call = report["wall_ms"]["p50"].get<double>();
  for (const nlohmann::json& row : report["by_module"]) {
    // A fused instruction has a list: "a, b".
    const auto list = row["name"].get<std::string>();
    for (const std::string& module : EnclosingModules(list.substr(0, list.find(',')))) {
      times.modules[module] += row["p50_ms"].get<double>();
    }
  }
  return times;
}

absl::StatusOr<std::vector<Times>> TimesOfAll(const exir::MethodPrograms& programs,
                                              const Lowering& lowering) {
  exir::PipelineOptions pipeline = lowering.pipeline;
  pipeline.progress = nullptr;
  exir::PipelineReport ignored;
  ABSL_ASSIGN_OR_RETURN(const exir::ProgramImage image,
                        exir::LowerPrograms(exir::Clone(programs), pipeline, &ignored));
  ABSL_ASSIGN_OR_RETURN(const Program program, exir::OpenImage(image));
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddEngine("highway", kernels));
  ThreadPool threads(lowering.pipeline.to_backend.threads);
  std::vector<Times> times;
  for (const auto& [name, exported] : programs) {
    absl::StatusOr<Times> method = TimesOf(program, name, kernels, threads);
    if (!method.ok()) return Annotate(method.status(), absl::StrCat("method '", name, "'"));
    times.push_back(*std::move(method));
  }
  return times;
}

}  // namespace

nlohmann::json ProgramTimes::ToJson() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : modules) {
    rows.push_back({{"module", row.module}, {"before_ms", row.before}, {"after_ms", row.after}});
  }
  return {{"before_ms", before}, {"after_ms", after}, {"modules", std::move(rows)}};
}

std::string ProgramTimes::ToString() const {
  constexpr size_t kShown = 8;
  const auto ms = [](double time) { return absl::StrFormat("%.3g ms", time); };
  std::string text =
      absl::StrCat("method ", OneLine(method), ": a call of ", ms(before), " becomes ", ms(after),
                   " (medians, random inputs); modules, the slowest first:\n");
  for (size_t i = 0; i < std::min(kShown, modules.size()); ++i) {
    const Row& row = modules[i];
    absl::StrAppend(&text, "  ", ms(row.before), " becomes ", ms(row.after), ": ",
                    OneLine(row.module), "\n");
  }
  return text;
}

absl::StatusOr<std::vector<ProgramTimes>> MeasureTimes(const exir::MethodPrograms& before,
                                                       const exir::MethodPrograms& after,
                                                       const Lowering& lowering) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<Times> first, TimesOfAll(before, lowering));
  ABSL_ASSIGN_OR_RETURN(const std::vector<Times> second, TimesOfAll(after, lowering));
  std::vector<ProgramTimes> result;
  for (size_t i = 0; i < before.size(); ++i) {
    ProgramTimes& times = result.emplace_back();
    times.method = before[i].first;
    times.before = first[i].call;
    times.after = second[i].call;
    std::map<std::string, ProgramTimes::Row> rows;
    for (const auto& [module, time] : first[i].modules) rows[module].before = time;
    for (const auto& [module, time] : second[i].modules) rows[module].after = time;
    for (auto& [module, row] : rows) {
      row.module = module;
      times.modules.push_back(std::move(row));
    }
    std::sort(times.modules.begin(), times.modules.end(), [](const auto& a, const auto& b) {
      return a.before == b.before ? a.module < b.module : a.before > b.before;
    });
  }
  return result;
}

}  // namespace belay::tools
