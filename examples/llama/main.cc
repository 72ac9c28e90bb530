// Loads a language model and prints the tokens that it generates.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "examples/llama/generate.h"
#include "runtime/core/npy.h"

ABSL_FLAG(std::string, program, "", "the program file, of the methods prefill and decode");
ABSL_FLAG(std::vector<std::string>, prompt, {}, "tokens, comma separated");
ABSL_FLAG(std::string, prompt_file, "", "a .npy file of int64 tokens instead");
ABSL_FLAG(int, count, 32, "tokens to generate");
ABSL_FLAG(int, threads, 1, "number of threads per call");

namespace {

// Resolves a path relative to the caller's directory; `bazel run` starts elsewhere.
std::string Path(const std::string& path) {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  return directory == nullptr ? path : (std::filesystem::path(directory) / path).string();
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Generates tokens greedily: --program FILE --prompt 1,2,3");
  absl::ParseCommandLine(argc, argv);
  belay::examples::GenerateOptions options{.program = Path(absl::GetFlag(FLAGS_program)),
                                           .prompt = {},
                                           .count = absl::GetFlag(FLAGS_count),
                                           .threads = absl::GetFlag(FLAGS_threads)};
  if (options.threads < 1 || options.threads > 256) return Fail("--threads: expected 1 to 256");
  for (const std::string& text : absl::GetFlag(FLAGS_prompt)) {
    if (!absl::SimpleAtoi(text, &options.prompt.emplace_back())) {
      return Fail("--prompt: '" + text + "' is not a number");
    }
  }
  if (const std::string file = absl::GetFlag(FLAGS_prompt_file); !file.empty()) {
    const auto tokens = belay::ReadNpyFile(Path(file));
    if (!tokens.ok()) return Fail(tokens.status().ToString());
    if (tokens->dtype != belay::DType::kInt64) return Fail(file + ": expected int64 tokens");
    const auto* first = tokens->view().as<const int64_t>();
    options.prompt.assign(first, first + tokens->view().numel());
  }
  const auto result = belay::examples::Generate(options);
  if (!result.ok()) return Fail(result.status().ToString());

  std::printf("%s\n\n", absl::StrJoin(result->tokens, " ").c_str());
  std::printf("program file: %llu bytes, state: %llu bytes, peak memory: %.1f MB\n",
              static_cast<unsigned long long>(result->file_bytes),
              static_cast<unsigned long long>(result->state_bytes), result->peak_rss_bytes / 1e6);
  std::printf("load: %.2f ms, prompt of %zu tokens: %.2f ms\n", result->load_ms,
              options.prompt.size(), result->prefill_ms);
  if (std::vector<double> times = result->decode_ms; !times.empty()) {
    std::sort(times.begin(), times.end());
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    std::printf("one token: %.3f ms (minimum %.3f, median %.3f); %.1f tokens per second\n",
                sum / times.size(), times.front(), times[times.size() / 2],
                1e3 * times.size() / sum);
  }
  return 0;
}
