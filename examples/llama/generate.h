// Generates tokens with a language model of two methods that share weights and a cache.
#ifndef BELAY_EXAMPLES_LLAMA_GENERATE_H_
#define BELAY_EXAMPLES_LLAMA_GENERATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace belay::examples {

struct GenerateOptions {
  std::string program = {};  // a program file of the methods prefill and decode (README.md)
  std::vector<int64_t> prompt = {};
  int count = 32;   // tokens to generate
  int threads = 1;  // at least 1
};

struct Generation {
  std::vector<int64_t> tokens;
  double load_ms = 0, prefill_ms = 0;  // of the whole prompt
  std::vector<double> decode_ms;       // of each token but the first
  uint64_t file_bytes = 0, state_bytes = 0, peak_rss_bytes = 0;
};

// Opens the program, runs prefill on the prompt and decode on each token, with greedy sampling (the
// largest logit). Both methods take tokens i64[1,n] and their positions i64[n], return
// f32[1,vocabulary], and share a cache as state.
//   kInvalidArgument  no prompt; logits of another type
//   errors of Program::Open, Method::Load, SetInput and Execute: kOutOfRange for a prompt longer
//   than prefill supports
absl::StatusOr<Generation> Generate(const GenerateOptions& options);

}  // namespace belay::examples

#endif  // BELAY_EXAMPLES_LLAMA_GENERATE_H_
