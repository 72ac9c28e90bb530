// `belay profile`: measures the time of a call by instruction.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/core/annotate.h"
#include "runtime/core/bytes.h"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/trace/event_log.h"
#include "runtime/trace/hardware_counters.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/command.h"
#include "tools/belay/etdump_file.h"
#include "tools/belay/printing.h"
#include "tools/belay/profile_calls.h"
#include "tools/belay/program_file.h"
#include "tools/belay/same_file.h"
#include "tools/belay/session.h"
#include "tools/graph/draw_program_file.h"
#include "tools/graph/report_page.h"
#include "tools/profile/code_map.h"
#include "tools/profile/profile_report.h"
#include "tools/profile/roof.h"
#include "tools/profile/trace_files.h"

namespace belay::tools {
namespace {

using nlohmann::json;

absl::StatusOr<json> ReadJson(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  json parsed = json::parse(AsString(file->bytes()), nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return absl::InvalidArgumentError(absl::StrCat(path, ": no JSON"));
  return parsed;
}

absl::Status WriteTrace(const std::string& path, absl::Span<const Event> events, CodeMap& code) {
  const std::string bytes = absl::EndsWith(path, ".json")   ? JsonText(JsonTrace(events, code))
                            : absl::EndsWith(path, ".etdp") ? EtDump(events, code)
                                                            : PerfettoTrace(events, code);
  const std::string_view piece = bytes;
  return WriteFileAtomically(path, absl::MakeConstSpan(&piece, 1));
}

absl::Status WritePage(const ProfileOptions& options, const json& report, const Program& program) {
  ABSL_ASSIGN_OR_RETURN(const DrawnProgram drawn, DrawProgramFile(program));
  json data = DrawnProgramJson(drawn);
  data["title"] = std::filesystem::path(options.program).filename().string();
  data["subtitle"] = absl::StrCat("times of the method ", options.method);
  data["report"] = nullptr;
  data["profile"] = report;
  const std::string page = ReportPage(data);
  const std::string_view piece = page;
  return WriteFileAtomically(options.html, absl::MakeConstSpan(&piece, 1));
}

absl::Status ProfileMethod(const ProfileOptions& options) {
  json before;
  if (!options.compare.empty()) {
    ABSL_ASSIGN_OR_RETURN(before, ReadJson(options.compare));
  }
  json limits;
  if (!options.limits.empty()) {
    ABSL_ASSIGN_OR_RETURN(limits, ReadJson(options.limits));
  }
  HardwareCounters counters;  // created before other threads, so that they are counted
  ABSL_ASSIGN_OR_RETURN(const auto log, EventLog::Create(static_cast<size_t>(options.max_events)));
  ABSL_ASSIGN_OR_RETURN(
      const auto session,
      OpenSession(options.program, options.method, options.engine, options.threads,
                  EventSink{.log = log.get()},
                  OpenOptionsFor({}, options.data, options.payloads, options.weight_cache)));
  std::vector<Event> events(log->events().begin(), log->events().end());
  Method& method = *session->method;
  ABSL_ASSIGN_OR_RETURN(const CallInputs inputs,
                        options.inputs.empty()
                            ? RandomInputs(method.plan(), options.seed,
                                           DynamicSizeFor(*session->program, options.dynamic_size))
                            : InputsFromFiles(method.plan(), options.inputs));
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs.values[i]));
  }
  CodeMap code(method);
  ABSL_ASSIGN_OR_RETURN(json report, ProfileCalls(method, *log, options.runs, counters, code,
                                                  "; --max-events enlarges it"));
  if (!options.trace.empty()) {
    events.insert(events.end(), log->events().begin(), log->events().end());
    ABSL_RETURN_IF_ERROR(WriteTrace(options.trace, events, code));
  }
  if (!options.limits.empty()) {
    const absl::Status roofs = AddRoofs(limits, options.threads, report);
    if (!roofs.ok()) return Annotate(roofs, options.limits);
  }
  report["program"] = options.program;
  report["method"] = options.method;
  report["threads"] = options.threads;
  report["load_ms"] = 1e3 * session->load_seconds;
  report["memory_bytes"] = method.memory_bytes();
  if (!options.compare.empty()) {
    const absl::StatusOr<std::string> comparison = CompareProfiles(before, report);
    if (!comparison.ok()) return Annotate(comparison.status(), options.compare);
    std::cout << ForTerminal(*comparison);
    return absl::OkStatus();
  }
  if (!options.html.empty()) {
    ABSL_RETURN_IF_ERROR(WritePage(options, report, *session->program));
  }
  std::cout << (options.json ? JsonText(report)
                             : ForTerminal(ProfileText(report, static_cast<size_t>(options.rows))));
  return absl::OkStatus();
}

// Returns an error in the combination of options, or "".
std::string Problem(const ProfileOptions& options) {
  std::vector<std::string> read = options.inputs;
  read.push_back(options.program);
  read.push_back(options.compare);
  read.push_back(options.limits);
  for (const std::string& file : read) {
    for (const auto& [option, written] :
         {std::pair("--trace", options.trace), std::pair("--html", options.html)}) {
      if (!IsSameFile(written, file)) continue;
      return absl::StrCat(option, " would overwrite the input file ", OneLine(file));
    }
  }
  if (IsSameFile(options.trace, options.html)) {
    return absl::StrCat("--trace and --html would write to the same file, ", OneLine(options.html));
  }
  return "";
}

}  // namespace

int ProfileProgram(const ProfileOptions& options) { return Report(ProfileMethod(options)); }

Command ProfileCommand() {
  const auto profile = std::make_shared<ProfileOptions>();
  return {
      .name = "profile",
      .about =
          "Measures the time of a call by instruction, operator, module, source line and backend.",
      .options =
          {{"program", &profile->program, "the program file", {.required = true}},
           {"--method", &profile->method, "the method"},
           {"--runs",
            &profile->runs,
            "number of calls, after one to warm up",
            {.least = 1, .most = 100'000}},
           {"--input",
            &profile->inputs,
            ".npy files in the order of the method's inputs (repeatable)",
            {.repeatable = true}},
           {"--random-inputs",
            &profile->seed,
            "uses random inputs with this seed",
            {.excludes = {"--input"}}},
           {"--dynamic-size",
            &profile->dynamic_size,
            "size of dynamic dimensions of random inputs",
            {.least = 1, .excludes = {"--input"}}},
           {"--rows", &profile->rows, "maximum number of rows of each table", {.least = 1}},
           {"--trace",
            &profile->trace,
            "writes a timeline of loading and the last call for ui.perfetto.dev, as JSON if the "
            "name "
            "ends in .json, or for ExecuTorch's Inspector if it ends in .etdp",
            {.not_empty = true}},
           {"--html",
            &profile->html,
            "writes an HTML page: the graph with times, and the tables",
            {.not_empty = true}},
           {"--compare",
            &profile->compare,
            "an earlier output of --json: prints only the differences from it",
            {.not_empty = true, .excludes = {"--html"}}},
           {"--limits",
            &profile->limits,
            "the output of //tools/bench:limits on this machine: shows each instruction's share of "
            "the machine's limit",
            {.not_empty = true}},
           {"--max-events",
            &profile->max_events,
            "maximum number of events per call, 40 bytes of memory each",
            {.least = 1, .most = 1e9}},
           ThreadsOption(&profile->threads),
           DataOption(&profile->data),
           PayloadsOption(&profile->payloads),
           WeightCacheOption(&profile->weight_cache),
           EngineOption(&profile->engine),
           {"--json", &profile->json, "prints all figures as JSON", {.excludes = {"--compare"}}}},
      .footer = "Example: belay profile model.belay --runs 100 --trace model.perfetto-trace",
      .owned = profile,
      .run = [profile] { return ProfileProgram(*profile); },
      .problem = [profile] { return Problem(*profile); },
  };
}

}  // namespace belay::tools
