// `belay bench`: measures load and execution times.
#include <sys/resource.h>

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "runtime/core/status_macros.h"
#include "tools/belay/backend_options.h"
#include "tools/belay/bench_llm.h"
#include "tools/belay/call_inputs.h"
#include "tools/belay/command.h"
#include "tools/belay/cpu_name.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/session.h"
#include "tools/profile/profile.h"

namespace belay::tools {
namespace {

#ifdef NDEBUG
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;
#endif

absl::StatusOr<nlohmann::json> Measure(const BenchOptions& options, const Session& session) {
  Method& method = *session.method;
  ABSL_ASSIGN_OR_RETURN(const CallInputs inputs,
                        options.inputs.empty()
                            ? RandomInputs(method.plan(), options.seed,
                                           DynamicSizeFor(*session.program, options.dynamic_size))
                            : InputsFromFiles(method.plan(), options.inputs));
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    ABSL_RETURN_IF_ERROR(method.SetInput(i, inputs.values[i]));
  }
  const auto once = [&]() -> absl::StatusOr<double> {
    const absl::Time start = absl::Now();
    ABSL_RETURN_IF_ERROR(method.Execute());
    return absl::ToDoubleMilliseconds(absl::Now() - start);
  };
  ABSL_ASSIGN_OR_RETURN(const double first, once());
  std::vector<double> ms;
  const absl::Time end = absl::Now() + absl::Seconds(options.seconds);
  do {
    ABSL_ASSIGN_OR_RETURN(const double t, once());
    ms.push_back(t);
  } while (absl::Now() < end);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  nlohmann::json in = nlohmann::json::array(), out = nlohmann::json::array();
  for (size_t i = 0; i < inputs.values.size(); ++i) {
    in.push_back(absl::StrCat(method.plan().inputs[i].name, ": ", DescribeValue(inputs.values[i])));
  }
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    out.push_back(DescribeValue(method.GetOutput(i)));
  }
  return nlohmann::json{{"latency_ms_median", Percentile(ms, 0.5)},
                        {"latency_ms_p10", Percentile(ms, 0.1)},
                        {"latency_ms_p90", Percentile(ms, 0.9)},
                        {"latency_ms_p99", Percentile(ms, 0.99)},
                        {"runs", ms.size()},
                        {"inputs", std::move(in)},
                        {"outputs", std::move(out)},
                        {"load_ms", 1e3 * session.load_seconds},
                        {"first_inference_ms", first},
                        {"peak_rss_mb", usage.ru_maxrss / 1024.0},
                        {"cpu", CpuName()},
                        {"threads", options.threads},
                        {"build_mode", kOptimized ? "optimized" : "with assertions"}};
}

Option WithoutLlm(Option option) {
  option.rules.excludes = {"--llm"};
  return option;
}

}  // namespace

int Bench(const BenchOptions& options) {
  if (!kOptimized)
    std::cerr
        << "belay: warning: this binary was built with assertions; measure with --config=opt\n";
  if (options.llm) {
    const absl::Status status = BenchLlm(options);
    return status.ok() ? kDone : Report(status);
  }
  const absl::StatusOr<BackendSettings> backend_options =
      ParseBackendOptions(options.backend_options);
  if (!backend_options.ok()) return ReportBadUsage(backend_options.status());
  const auto session = OpenSession(
      options.program, options.method, options.engine, options.threads, {},
      OpenOptionsFor({}, options.data, options.payloads, options.weight_cache), &*backend_options);
  if (!session.ok()) return Report(session.status());
  const absl::Status used = CheckBackendsAreUsed(*backend_options, *(*session)->program);
  if (!used.ok()) return ReportBadUsage(used);
  const absl::StatusOr<nlohmann::json> result = Measure(options, **session);
  if (!result.ok()) return Report(result.status());
  if (options.json) {
    std::cout << JsonText(*result);
    return kDone;
  }
  for (const auto& [key, value] : result->items()) {
    if (!value.is_array()) {
      std::cout << key << ": " << JsonText(value);
      continue;
    }
    std::cout << key << ":";
    const char* separator = " ";
    for (const auto& text : value) {
      std::cout << std::exchange(separator, ", ") << OneLine(text.get<std::string>());
    }
    std::cout << "\n";
  }
  return kDone;
}

Command BenchCommand() {
  const auto bench = std::make_shared<BenchOptions>();
  return {
      .name = "bench",
      .about = "Measures loading and executing a method, with random inputs or inputs from files.",
      .options = {{"program", &bench->program, "the program file", {.required = true}},
                  {"--method", &bench->method, "the method"},
                  {"--input",
                   &bench->inputs,
                   ".npy files in the order of the method's inputs (repeatable)",
                   {.repeatable = true}},
                  {"--random-inputs",
                   &bench->seed,
                   "uses random inputs with this seed",
                   {.excludes = {"--input"}}},
                  {"--dynamic-size",
                   &bench->dynamic_size,
                   "size of dynamic dimensions of random inputs",
                   {.least = 1, .excludes = {"--input"}}},
                  {"--seconds", &bench->seconds, "measuring time in seconds", {.least = 0.001}},
                  {"--llm",
                   &bench->llm,
                   "measures tokens per second of a language model, as llama-bench",
                   {.excludes = {"--input", "--random-inputs", "--dynamic-size", "--seconds"}}},
                  {"--pp", &bench->pp, "with --llm: numbers of tokens in a prompt; 0: none"},
                  {"--tg", &bench->tg, "with --llm: numbers of tokens to generate; 0: none"},
                  {"--depth", &bench->depth,
                   "with --llm: numbers of tokens in the cache before each test"},
                  {"--sessions", &bench->sessions,
                   "with --llm: also generates with all sessions of a batch together"},
                  {"--repetitions",
                   &bench->repetitions,
                   "with --llm: runs per test",
                   {.least = 1, .most = 1000}},
                  ThreadsOption(&bench->threads),
                  WithoutLlm(BackendOptionFlag(&bench->backend_options)),
                  DataOption(&bench->data),
                  PayloadsOption(&bench->payloads),
                  WeightCacheOption(&bench->weight_cache),
                  EngineOption(&bench->engine),
                  {"--json", &bench->json, "prints JSON"}},
      .footer =
          "Example: belay bench model.belay --seconds 3 --json\n"
          "         belay bench llm.belay --llm --pp 128,512 --tg 128 --depth 0,4096",
      .owned = bench,
      .run = [bench] { return Bench(*bench); },
  };
}

}  // namespace belay::tools
