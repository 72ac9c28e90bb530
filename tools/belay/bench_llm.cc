// `belay bench --llm`: tokens per second of prompts and of generation, in llama-bench's columns.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/runtime_backends.h"
#include "nlohmann/json.hpp"
#include "runtime/core/random.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/llm/batch.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"
#include "tools/belay/bench_llm.h"
#include "tools/belay/cpu_name.h"
#include "tools/belay/integer_list.h"
#include "tools/belay/printing.h"
#include "tools/belay/program_file.h"
#include "tools/belay/session.h"

namespace belay::tools {
namespace {

// One row: a prompt or a generation after `depth` tokens.
struct LlmTest {
  int64_t prompt = 0, generated = 0, depth = 0;
  int64_t sessions = 1;  // that generate together

  std::string Name() const {
    return absl::StrCat(prompt > 0 ? "pp" : "tg", prompt > 0 ? prompt : generated,
                        depth > 0 ? absl::StrCat(" @ d", depth) : "",
                        sessions > 1 ? absl::StrCat(" x ", sessions) : "");
  }
};

absl::StatusOr<std::vector<LlmTest>> TestsOf(const BenchOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> prompts,
                        ParseIntegers("--pp", options.pp, int64_t{0}));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> generated,
                        ParseIntegers("--tg", options.tg, int64_t{0}));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> depths,
                        ParseIntegers("--depth", options.depth, int64_t{0}));
  std::vector<LlmTest> tests;
  for (const int64_t depth : depths) {
    for (const int64_t n : prompts) {
      if (n > 0) tests.push_back({.prompt = n, .depth = depth});
    }
    for (const int64_t n : generated) {
      if (n > 0) tests.push_back({.generated = n, .depth = depth});
    }
  }
  if (tests.empty())
    return absl::InvalidArgumentError("expected a number of tokens in --pp or --tg");
  return tests;
}

std::vector<int32_t> RandomTokens(int64_t count, int64_t vocabulary, Random& random) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int32_t& token : tokens) {
    token = static_cast<int32_t>(random.Next() % static_cast<uint64_t>(vocabulary));
  }
  return tokens;
}

// Cuts or extends a session to the start of a test. Returns its number of tokens.
absl::StatusOr<int64_t> Prepare(const LlmTest& test, llm::Session& session, Random& random) {
  // The first token of a generation needs logits.
  const int64_t start = std::max<int64_t>(test.depth, test.generated > 0 ? 1 : 0);
  if (session.position() > start) ABSL_RETURN_IF_ERROR(session.Cut(start));
  ABSL_RETURN_IF_ERROR(session.Append(
      RandomTokens(start - session.position(), session.model().vocabulary(), random)));
  if (start > 0) ABSL_RETURN_IF_ERROR(session.Logits().status());
  return start;
}

absl::Status ContextError(const LlmTest& test, int64_t start, const llm::TextModel& model) {
  return absl::OutOfRangeError(absl::StrCat("expected a context length of at least ",
                                            start + test.generated, " tokens, got ",
                                            model.context_length()));
}

// Returns the seconds of one run, without Prepare.
absl::StatusOr<double> Run(const LlmTest& test, llm::Session& session, Random& random) {
  ABSL_ASSIGN_OR_RETURN(const int64_t start, Prepare(test, session, random));
  const std::vector<int32_t> prompt =
      RandomTokens(test.prompt, session.model().vocabulary(), random);
  const absl::Time begin = absl::Now();
  if (test.prompt > 0) {
    ABSL_RETURN_IF_ERROR(session.Append(prompt));
  } else {
    llm::GenerateOptions generate;
    generate.max_tokens = test.generated;
    ABSL_ASSIGN_OR_RETURN(const llm::Generation generation, session.Generate(generate));
    if (generation.finish != llm::FinishReason::kMaxTokens) {
      return ContextError(test, start, session.model());
    }
    ABSL_RETURN_IF_ERROR(session.Logits().status());  // evaluates the last token
  }
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

// The same for all sessions of a batch.
absl::StatusOr<double> RunBatch(const LlmTest& test, llm::Batch& batch, Random& random) {
  std::vector<llm::TokenStream> streams;
  for (int64_t i = 0; i < batch.size(); ++i) {
    llm::Session& session = batch.session(i);
    ABSL_ASSIGN_OR_RETURN(const int64_t start, Prepare(test, session, random));
    if (start + test.generated > session.model().context_length()) {
      return ContextError(test, start, session.model());
    }
    llm::GenerateOptions generate;
    generate.max_tokens = test.generated;
    ABSL_ASSIGN_OR_RETURN(llm::TokenStream stream, llm::TokenStream::Create(session, generate));
    streams.push_back(std::move(stream));
  }
  const absl::Time begin = absl::Now();
  for (int64_t step = 0; step < test.generated; ++step) {
    for (llm::TokenStream& stream : streams) ABSL_RETURN_IF_ERROR(stream.Next().status());
    ABSL_RETURN_IF_ERROR(batch.Step());
  }
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

nlohmann::json Row(const BenchOptions& options, const LlmTest& test, uint64_t bytes,
                   const std::vector<double>& seconds) {
  const auto tokens =
      static_cast<double>(test.prompt + test.generated) * static_cast<double>(test.sessions);
  std::vector<double> rates;
  double mean = 0, variance = 0;
  for (const double s : seconds) rates.push_back(tokens / std::max(s, 1e-9));
  for (const double rate : rates) mean += rate / static_cast<double>(rates.size());
  for (const double rate : rates) variance += (rate - mean) * (rate - mean);
  if (rates.size() > 1) variance /= static_cast<double>(rates.size() - 1);
  return {{"model_filename", options.program},
          {"model_size", bytes},
          {"cpu_info", CpuName()},
          {"n_threads", options.threads},
          {"n_prompt", test.prompt},
          {"n_gen", test.generated},
          {"n_depth", test.depth},
          {"n_sessions", test.sessions},
          {"test", test.Name()},
          {"avg_ts", mean},
          {"stddev_ts", std::sqrt(variance)},
          {"samples_ts", rates}};
}

}  // namespace

absl::Status BenchLlm(const BenchOptions& options) {
  ABSL_ASSIGN_OR_RETURN(const std::vector<LlmTest> tests, TestsOf(options));
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddEngine(options.engine, kernels));
  ABSL_ASSIGN_OR_RETURN(
      const Program program,
      OpenProgramFile(options.program,
                      OpenOptionsFor({}, options.data, options.payloads, options.weight_cache)));
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(options.program, error);
  std::unique_ptr<ThreadPool> threads;
  if (options.threads > 1) threads = std::make_unique<ThreadPool>(options.threads);
  llm::TextModelOptions model_options;
  model_options.threads = threads.get();
  ABSL_ASSIGN_OR_RETURN(const llm::TextModel model,
                        llm::TextModel::Create(program, kernels, RuntimeBackends(), model_options));
  // The contents of the cache do not affect the speed, so a cut only moves the position.
  ABSL_ASSIGN_OR_RETURN(llm::Session session,
                        llm::Session::Create(model, {.rewind = llm::Rewind::kMovePosition}));
  std::vector<LlmTest> all = tests;
  std::optional<llm::Batch> batch;
  if (options.sessions) {
    ABSL_ASSIGN_OR_RETURN(batch, llm::Batch::Create(model));
    for (LlmTest test : tests) {
      test.sessions = batch->size();
      if (test.generated > 0) all.push_back(test);
    }
  }
  Random random(options.seed);
  const auto run = [&](const LlmTest& test) {
    return test.sessions > 1 ? RunBatch(test, *batch, random) : Run(test, session, random);
  };
  nlohmann::json rows = nlohmann::json::array();
  if (!options.json) {
    std::cout << "| model | size | threads | test | t/s |\n| --- | ---: | ---: | ---: | ---: |\n";
  }
  for (const LlmTest& test : all) {
    ABSL_RETURN_IF_ERROR(run(test).status());  // warm-up
    std::vector<double> seconds;
    for (int64_t i = 0; i < options.repetitions; ++i) {
      ABSL_ASSIGN_OR_RETURN(const double s, run(test));
      seconds.push_back(s);
    }
    rows.push_back(Row(options, test, error ? 0 : bytes, seconds));
    if (options.json) continue;
    const auto& row = rows.back();
    std::cout << absl::StrFormat(
                     "| %s | %.2f MiB | %d | %s | %.2f ± %.2f |",
                     OneLine(std::filesystem::path(options.program).filename().string()),
                     static_cast<double>(row["model_size"].get<uint64_t>()) / (1 << 20),
                     options.threads, test.Name(), row["avg_ts"].get<double>(),
                     row["stddev_ts"].get<double>())
              << std::endl;
  }
  if (options.json) std::cout << JsonText(rows);
  return absl::OkStatus();
}

}  // namespace belay::tools
