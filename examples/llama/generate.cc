#include "examples/llama/generate.h"

#include <sys/resource.h>

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "backends/runtime_backends.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/thread_pool.h"
#include "runtime/executor/method.h"
#include "runtime/executor/shared_state.h"
#include "runtime/kernels/standard_kernels.h"
#include "runtime/program/program.h"

namespace belay::examples {
namespace {

double MillisecondsSince(absl::Time start) {
  return absl::ToDoubleMilliseconds(absl::Now() - start);
}

// Returns the most likely token after these; the first of them is at `position`.
absl::StatusOr<int64_t> Next(Method& method, std::vector<int64_t> tokens, int64_t position) {
  const auto count = static_cast<int64_t>(tokens.size());
  std::vector<int64_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), position);
  // Both inputs are used in place: they must live until Execute returns.
  ABSL_RETURN_IF_ERROR(method.SetInput(
      0, EValue(TensorView::Contiguous(DType::kInt64, Sizes{1, count}, tokens.data()))));
  ABSL_RETURN_IF_ERROR(method.SetInput(
      1, EValue(TensorView::Contiguous(DType::kInt64, Sizes{count}, positions.data()))));
  ABSL_RETURN_IF_ERROR(method.Execute());
  const TensorView* logits =
      method.num_outputs() == 0 ? nullptr : method.GetOutput(0).get_if<TensorView>();
  if (logits == nullptr || logits->dtype != DType::kFloat32 || !logits->is_contiguous() ||
      logits->rank() != 2 || logits->sizes[0] != 1 || logits->sizes[1] < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("method ", method.plan().name, ": expected logits f32[1,vocabulary]"));
  }
  const float* first = logits->as<float>();
  return std::max_element(first, first + logits->sizes[1]) - first;
}

}  // namespace

absl::StatusOr<Generation> Generate(const GenerateOptions& options) {
  if (options.prompt.empty()) return absl::InvalidArgumentError("the prompt has no tokens");
  Generation result;
  KernelRegistry kernels;
  ABSL_RETURN_IF_ERROR(AddStandardKernels(kernels));
  ThreadPool threads(options.threads);
  absl::Time start = absl::Now();
  ABSL_ASSIGN_OR_RETURN(const Program program, Program::Open(options.program));
  // Shares the cache between the methods; otherwise each would have its own.
  ABSL_ASSIGN_OR_RETURN(SharedState state, SharedState::Create(program, {"prefill", "decode"}));
  const MethodOptions load = {.state = &state, .threads = &threads};
  ABSL_ASSIGN_OR_RETURN(Method prefill,
                        Method::Load(program, "prefill", kernels, RuntimeBackends(), load));
  ABSL_ASSIGN_OR_RETURN(Method decode,
                        Method::Load(program, "decode", kernels, RuntimeBackends(), load));
  result.load_ms = MillisecondsSince(start);
  result.file_bytes = program.bytes().size();
  result.state_bytes = state.memory_bytes();

  auto position = static_cast<int64_t>(options.prompt.size());
  for (int i = 0; i < options.count; ++i) {
    start = absl::Now();
    if (i == 0) {
      ABSL_ASSIGN_OR_RETURN(const int64_t token, Next(prefill, options.prompt, 0));
      result.prefill_ms = MillisecondsSince(start);
      result.tokens.push_back(token);
      continue;
    }
    ABSL_ASSIGN_OR_RETURN(const int64_t token, Next(decode, {result.tokens.back()}, position++));
    result.decode_ms.push_back(MillisecondsSince(start));
    result.tokens.push_back(token);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return result;
}

}  // namespace belay::examples
