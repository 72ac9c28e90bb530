// `belay run`: executes a method on arrays from files.
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/core/mapped_file.h"
#include "runtime/core/status_macros.h"
#include "runtime/executor/shared_state.h"
#include "runtime/io/npy_values.h"
#include "runtime/trace/event_log.h"
#include "tools/belay/backend_options.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/command.h"
#include "tools/belay/method_folder.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/recorded_values.h"
#include "tools/belay/session.h"
#include "tools/belay/value_files.h"

namespace belay::tools {
namespace {

// Creates the inputs of one call.
absl::StatusOr<CallInputs> MakeInputs(const Method& method, const MethodFolder& call,
                                      const RunOptions& options) {
  const MethodPlan& plan = method.plan();
  if (!options.sequence.empty()) return InputsFromFolder(plan, call.folder);
  if (options.seed.has_value()) {
    return RandomInputs(plan, *options.seed, DynamicSizeFor(method.program(), 2));
  }
  return InputsFromFiles(plan, options.inputs);
}

absl::Status WriteOutputs(const Method& method, const std::string& directory) {
  ABSL_RETURN_IF_ERROR(MakeDirectory(directory));
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    ABSL_RETURN_IF_ERROR(WriteOutputValue(method.GetOutput(i), directory, absl::StrCat(i)));
  }
  return absl::OkStatus();
}

// The called methods by name, on a shared state.
struct Methods {
  std::unique_ptr<Session> session;
  std::unique_ptr<SharedState> state;
  // Share `state`; empty if only one method is called.
  std::map<std::string, std::unique_ptr<Method>> others;

  Method& operator[](const std::string& name) {
    const auto it = others.find(name);
    return it == others.end() ? *session->method : *it->second;
  }
};

absl::StatusOr<Methods> LoadMethods(const RunOptions& options,
                                    const BackendSettings& backend_options,
                                    const std::vector<MethodFolder>& calls, EventSink events) {
  std::set<std::string> names;
  for (const MethodFolder& call : calls) names.insert(call.method);
  Methods methods;
  ABSL_ASSIGN_OR_RETURN(
      methods.session,
      OpenSession(options.program, calls[0].method, options.engine, options.threads, events,
                  OpenOptionsFor(options.limits.ForPrograms(options.copy ? FileAccess::kCopy
                                                                         : FileAccess::kMap),
                                 options.data, options.payloads, options.weight_cache),
                  &backend_options));
  if (names.size() == 1) return methods;
  const Program& program = *methods.session->program;
  ABSL_ASSIGN_OR_RETURN(
      SharedState state,
      SharedState::Create(program, std::vector<std::string>(names.begin(), names.end())));
  methods.state = std::make_unique<SharedState>(std::move(state));
  for (const std::string& name : names) {
    ABSL_ASSIGN_OR_RETURN(methods.others[name],
                          LoadMethod(program, name, methods.session->kernels,
                                     {.state = methods.state.get(),
                                      .threads = methods.session->threads.get(),
                                      .backend_options = &backend_options}));
  }
  return methods;
}

absl::StatusOr<int> RunAll(const RunOptions& options) {
  std::vector<std::string> files = options.inputs;
  files.push_back(options.program);
  WithinLimits limits(options.limits, files);
  std::vector<MethodFolder> calls;
  for (const std::string& text : options.sequence) {
    calls.push_back(ParseMethodFolder(text, options.method));
  }
  if (calls.empty()) calls.push_back({options.method, ""});
  const absl::StatusOr<BackendSettings> backend_options =
      ParseBackendOptions(options.backend_options);
  if (!backend_options.ok()) return ReportBadUsage(backend_options.status());
  std::unique_ptr<EventLog> log;
  RecordedValues values(options.dump);
  if (!options.dump.empty()) {
    ABSL_RETURN_IF_ERROR(MakeDirectory(options.dump));
    ABSL_ASSIGN_OR_RETURN(log, EventLog::Create(1));  // for its observer
    log->SetValueObserver(&values);
  }
  ABSL_ASSIGN_OR_RETURN(Methods methods,
                        LoadMethods(options, *backend_options, calls, {.log = log.get()}));
  const auto& session = methods.session;
  const absl::Status used = CheckBackendsAreUsed(*backend_options, *session->program);
  if (!used.ok()) return ReportBadUsage(used);
  limits.Add(*session->program);
  nlohmann::json report;
  report["load_ms"] = 1e3 * session->load_seconds;
  report["calls"] = nlohmann::json::array();
  std::set<std::string> bits;  // outputs of types that .npy does not have
  for (size_t c = 0; c < calls.size(); ++c) {
    Method& method = methods[calls[c].method];
    ABSL_ASSIGN_OR_RETURN(const CallInputs inputs, MakeInputs(method, calls[c], options));
    for (size_t i = 0; i < inputs.values.size(); ++i) {
      ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs.values[i]));
    }
    std::vector<double> ms;
    for (int r = 0; r < options.repeat; ++r) {
      const absl::Time start = absl::Now();
      ABSL_RETURN_IF_ERROR(method.Execute());
      ms.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
    }
    if (log != nullptr) {
      ABSL_ASSIGN_OR_RETURN(const size_t count, values.Finish(method));
      report["dumped"] = count;
      std::cerr << "belay: wrote " << count << " values to " << OneLine(options.dump) << "\n";
    }
    nlohmann::json call{{"latency_ms", ms}, {"outputs", nlohmann::json::array()}};
    for (size_t i = 0; i < method.num_outputs(); ++i) {
      call["outputs"].push_back(DescribeValue(method.GetOutput(i)));
      if (const auto* tensor = method.GetOutput(i).get_if<TensorView>();
          tensor != nullptr && NpyCarrier(tensor->dtype) != tensor->dtype) {
        bits.insert(absl::StrCat(calls[c].method, " ", i, " (", DTypeName(tensor->dtype), ")"));
      }
      if (!options.json) {
        std::cout << "output " << i << ": " << DescribeElements(method.GetOutput(i)) << "\n";
      }
    }
    report["calls"].push_back(std::move(call));
    if (!options.output_dir.empty()) {
      const std::string directory =
          options.sequence.empty() ? options.output_dir : absl::StrCat(options.output_dir, "/", c);
      ABSL_RETURN_IF_ERROR(WriteOutputs(method, directory));
    }
  }
  if (!options.output_dir.empty() && !bits.empty()) {
    report["outputs_as_bits"] = bits;
    std::cerr << "belay: these outputs are written as unsigned integers of the same bits, because "
                 ".npy has no such type: ";
    const char* separator = "";
    for (const std::string& output : bits) std::cerr << std::exchange(separator, ", ") << output;
    std::cerr << "\n";
  }
  if (options.json) std::cout << JsonText(report);
  return kDone;
}

}  // namespace

int Run(const RunOptions& options) {
  const absl::StatusOr<int> status = RunAll(options);
  return status.ok() ? *status : Report(status.status());
}

Command RunCommand() {
  const auto run = std::make_shared<RunOptions>();
  return {
      .name = "run",
      .about = "Executes a method of a program file.",
      .options = WithLimits(
          {{"program", &run->program, "the program file", {.required = true}},
           {"--method", &run->method, "the method"},
           {"--input",
            &run->inputs,
            ".npy files in the order of the method's inputs (repeatable); for inputs fixed "
            "at export, all or none",
            {.repeatable = true}},
           {"--random-inputs",
            &run->seed,
            "uses random inputs with this seed",
            {.excludes = {"--input"}}},
           {"--sequence",
            &run->sequence,
            "folders with input_<i>.npy for input i, DIR or METHOD=DIR: one call each, all "
            "on the same state",
            {.repeatable = true, .excludes = {"--input", "--random-inputs"}}},
           {"--output-dir",
            &run->output_dir,
            "writes the outputs to this folder as 0.npy, 1.npy, …; strings as .txt",
            {.not_empty = true}},
           {"--dump",
            &run->dump,
            "writes the results of all instructions, also inside delegates, to this folder, by "
            "name, and their description to values.json",
            {.not_empty = true, .excludes = {"--sequence"}}},
           {"--repeat", &run->repeat, "number of executions", {.least = 1}},
           DataOption(&run->data),
           PayloadsOption(&run->payloads),
           WeightCacheOption(&run->weight_cache),
           EngineOption(&run->engine),
           ThreadsOption(&run->threads),
           BackendOptionFlag(&run->backend_options),
           {"--copy", &run->copy,
            "reads the program's files into memory instead of mapping them: for files that may "
            "be truncated while in use"},
           {"--json", &run->json, "prints a report as JSON"}},
          &run->limits),
      .footer = "Example: belay run model.belay --input x.npy --output-dir results",
      .owned = run,
      .run = [run] { return Run(*run); },
      .problem = [run]() -> std::string {
        if (run->dump.empty() || run->repeat == 1) return "";
        return "--dump takes one execution, without --repeat";
      },
  };
}

}  // namespace belay::tools
