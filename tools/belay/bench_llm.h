// Measures language models for `belay bench --llm`.
#ifndef BELAY_TOOLS_BELAY_BENCH_LLM_H_
#define BELAY_TOOLS_BELAY_BENCH_LLM_H_

#include "absl/status/status.h"
#include "tools/belay/command.h"

namespace belay::tools {

// Prints tokens per second in the columns of llama-bench, or as JSON with its keys. ppN evaluates a
// prompt of N random tokens, tgN generates N tokens one by one. "@ dM": after M tokens in the
// cache. "x S": S sessions of a batch together. Rates are the mean and the sample standard deviation of `repetitions` runs, after one
// warm-up run.
//   kInvalidArgument  malformed lists
//   kOutOfRange       the context is too short
//   errors of TextModel::Create, Session and Batch
absl::Status BenchLlm(const BenchOptions& options);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_BENCH_LLM_H_
