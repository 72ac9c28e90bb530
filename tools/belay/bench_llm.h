// Measures language models for `belay bench --llm`.
#ifndef BELAY_TOOLS_BELAY_BENCH_LLM_H_
#define BELAY_TOOLS_BELAY_BENCH_LLM_H_

#include <string>

#include "absl/status/status.h"
#include "tools/belay/command.h"

namespace belay::tools {

// Name of the CPU, or "unknown".
std::string CpuName();

// Prints tokens per second in the columns of llama-bench, or as JSON with its keys: ppN evaluates a
// prompt of N random tokens, tgN generates N tokens one by one, "@ dM" both after M tokens. Mean and
// sample standard deviation of `repetitions` runs, after one run that is not counted.
//   kInvalidArgument  ill-formed lists
//   kOutOfRange       the context is too short
//   errors of TextModel::Create and of Session
absl::Status BenchLlm(const BenchOptions& options);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_BENCH_LLM_H_
