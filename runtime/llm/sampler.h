// Chooses the next token from the logits of a language model.
#ifndef BELAY_RUNTIME_LLM_SAMPLER_H_
#define BELAY_RUNTIME_LLM_SAMPLER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace belay::llm {

// Steps in order; each is off with its default. l: logits, c(t): occurrences of token t in the last
// `penalty_window` tokens.
//
//   bias         l[t] += bias(t)
//   repetition   l[t] = l[t] > 0 ? l[t] / r : l[t] * r  if c(t) > 0      (Keskar et al. 2019, §4.1)
//   frequency    l[t] -= c(t) * frequency_penalty                        (OpenAI API, "penalties")
//   presence     l[t] -= c(t) > 0 ? presence_penalty : 0                 (the same)
//   temperature  l[t] /= temperature; 0: the result is the largest l[t]
//   top-k        keeps the k largest                                     (Fan et al. 2018)
//   top-p        keeps the fewest largest whose probabilities sum to p   (Holtzman et al. 2020)
//   min-p        keeps p(t) >= min_p * max p                             (Nguyen et al. 2024)
//
// The token is drawn from the softmax of the kept logits. Among equal logits, the smaller token
// comes first.
struct SamplerOptions {
  uint64_t seed = 0;
  double temperature = 1;         // >= 0
  int64_t top_k = 0;              // >= 0; 0: all
  double top_p = 1;               // (0, 1]
  double min_p = 0;               // [0, 1]
  double repetition_penalty = 1;  // > 0
  double frequency_penalty = 0;
  double presence_penalty = 0;
  int64_t penalty_window = 0;  // >= 0; 0: all tokens
  std::vector<std::pair<int32_t, double>> logit_bias = {};

  static SamplerOptions Greedy() {
    SamplerOptions options;
    options.temperature = 0;
    return options;
  }
};

// Not thread-safe. Allocates memory for the vocabulary once.
class Sampler {
 public:
  // kInvalidArgument lists all options outside their range.
  static absl::StatusOr<Sampler> Create(SamplerOptions options, int64_t vocabulary);

  // Returns a token for these logits, of vocabulary() elements. `history` are the tokens before.
  // The random number depends on the seed and the length of the history only, so that a generation
  // that continues draws the same numbers as an uninterrupted one. NaN counts as -infinity.
  // O(vocabulary), with top-k and top-p in addition O(kept * log(vocabulary)), with penalties
  // O(history).
  //   kInvalidArgument  another number of logits, or all are -infinity
  absl::StatusOr<int32_t> Sample(absl::Span<const float> logits, absl::Span<const int32_t> history);

  int64_t vocabulary() const { return vocabulary_; }

 private:
  Sampler(SamplerOptions options, int64_t vocabulary)
      : options_(std::move(options)), vocabulary_(vocabulary) {}

  bool HasPenalties() const;
  void AddBiasAndPenalties(absl::Span<const int32_t> history);
  // `largest`: the largest logit. `random`: in [0, 1).
  int32_t Draw(double largest, double random);

  SamplerOptions options_;
  int64_t vocabulary_;
  std::vector<double> logits_;
  std::vector<int32_t> kept_;
  std::vector<double> weights_;
  absl::flat_hash_map<int32_t, int64_t> counts_;
};

}  // namespace belay::llm

#endif  // BELAY_RUNTIME_LLM_SAMPLER_H_
