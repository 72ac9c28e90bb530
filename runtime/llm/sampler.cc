#include "runtime/llm/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/random.h"

namespace belay::llm {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

absl::Status NoLogitError() {
  return absl::InvalidArgumentError("expected a finite logit, got only -infinity and NaN");
}

// The largest element; NaN counts as -infinity. The lanes let the compiler use vectors.
float Largest(absl::Span<const float> logits) {
  constexpr size_t kLanes = 16;
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -std::numeric_limits<float>::infinity());
  const size_t whole = logits.size() / kLanes * kLanes;
  for (size_t t = 0; t < whole; t += kLanes) {
    for (size_t i = 0; i < kLanes; ++i) {
      lanes[i] = logits[t + i] > lanes[i] ? logits[t + i] : lanes[i];
    }
  }
  float largest = *std::max_element(lanes, lanes + kLanes);
  for (float logit : logits.subspan(whole)) largest = logit > largest ? logit : largest;
  return largest;
}

// Index of the first of the largest elements; nullopt: all are -infinity or NaN.
std::optional<size_t> FirstLargest(absl::Span<const float> logits) {
  constexpr size_t kBlock = 4096;
  float largest = -std::numeric_limits<float>::infinity();
  absl::Span<const float> block;
  for (size_t t = 0; t < logits.size(); t += kBlock) {
    const float here = Largest(logits.subspan(t, kBlock));
    if (!(here > largest)) continue;
    largest = here;
    block = logits.subspan(t, kBlock);
  }
  if (block.empty()) return std::nullopt;
  return static_cast<size_t>(std::find(block.begin(), block.end(), largest) - logits.begin());
}

}  // namespace

absl::StatusOr<Sampler> Sampler::Create(SamplerOptions options, int64_t vocabulary) {
  std::vector<std::string> problems;
  const auto expect = [&](bool holds, std::string_view name, std::string_view range, double value) {
    if (!holds) {
      problems.push_back(
          absl::StrCat(std::string(name), ": expected ", std::string(range), ", got ", value));
    }
  };
  expect(vocabulary > 0, "vocabulary", "a positive number", static_cast<double>(vocabulary));
  expect(std::isfinite(options.temperature) && options.temperature >= 0, "temperature",
         "a number of at least 0", options.temperature);
  expect(options.top_k >= 0, "top_k", "a number of at least 0", static_cast<double>(options.top_k));
  expect(options.top_p > 0 && options.top_p <= 1, "top_p", "a number above 0, at most 1",
         options.top_p);
  expect(options.min_p >= 0 && options.min_p <= 1, "min_p", "a number from 0 to 1", options.min_p);
  expect(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0,
         "repetition_penalty", "a positive number", options.repetition_penalty);
  expect(std::isfinite(options.frequency_penalty), "frequency_penalty", "a finite number",
         options.frequency_penalty);
  expect(std::isfinite(options.presence_penalty), "presence_penalty", "a finite number",
         options.presence_penalty);
  expect(options.penalty_window >= 0, "penalty_window", "a number of at least 0",
         static_cast<double>(options.penalty_window));
  for (const auto& [token, bias] : options.logit_bias) {
    expect(token >= 0 && token < vocabulary, "logit_bias", "a token of the vocabulary", token);
    expect(!std::isnan(bias) && bias < kInf, "logit_bias", "a finite number or -infinity", bias);
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
  return Sampler(std::move(options), vocabulary);
}

bool Sampler::HasPenalties() const {
  return options_.repetition_penalty != 1 || options_.frequency_penalty != 0 ||
         options_.presence_penalty != 0;
}

void Sampler::AddBiasAndPenalties(absl::Span<const int32_t> history) {
  for (const auto& [token, bias] : options_.logit_bias) logits_[static_cast<size_t>(token)] += bias;
  if (!HasPenalties()) return;
  if (options_.penalty_window > 0) {
    const auto window = static_cast<size_t>(options_.penalty_window);
    history = history.last(std::min(history.size(), window));
  }
  counts_.clear();
  for (int32_t token : history) {
    if (token >= 0 && token < vocabulary_) ++counts_[token];
  }
  for (const auto& [token, count] : counts_) {
    double& logit = logits_[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    logit -= static_cast<double>(count) * options_.frequency_penalty + options_.presence_penalty;
  }
}

int32_t Sampler::Draw(double largest, double random) {
  const auto weight = [&](int32_t token) {
    return std::exp((logits_[static_cast<size_t>(token)] - largest) / options_.temperature);
  };
  kept_.clear();
  for (int32_t t = 0; t < vocabulary_; ++t) {
    if (logits_[static_cast<size_t>(t)] > -kInf) kept_.push_back(t);
  }
  const auto before = [&](int32_t a, int32_t b) {
    const double x = logits_[static_cast<size_t>(a)], y = logits_[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto k = static_cast<size_t>(options_.top_k);
  if (k > 0 && k < kept_.size()) {
    std::nth_element(kept_.begin(), kept_.begin() + options_.top_k, kept_.end(), before);
    kept_.resize(k);
    std::sort(kept_.begin(), kept_.end(), before);
  }
  if (options_.top_p < 1) {
    // A heap orders only the tokens that are kept.
    double total = 0;
    for (int32_t token : kept_) total += weight(token);
    const auto after = [&](int32_t a, int32_t b) { return before(b, a); };
    std::make_heap(kept_.begin(), kept_.end(), after);
    double sum = 0;
    auto end = kept_.end();
    while (end != kept_.begin() && sum < options_.top_p * total) {
      std::pop_heap(kept_.begin(), end, after);
      sum += weight(*--end);
    }
    kept_.erase(kept_.begin(), end);
    std::reverse(kept_.begin(), kept_.end());
  }
  weights_.clear();
  double total = 0;
  size_t count = 0;
  for (int32_t token : kept_) {
    const double w = weight(token);
    if (w < options_.min_p) continue;  // The largest weight is 1.
    total += w;
    kept_[count++] = token;
    weights_.push_back(w);
  }
  double left = random * total;
  for (size_t i = 0; i < count; ++i) {
    left -= weights_[i];
    if (left < 0) return kept_[i];
  }
  return kept_[count - 1];  // rounding
}

absl::StatusOr<int32_t> Sampler::Sample(absl::Span<const float> logits,
                                        absl::Span<const int32_t> history) {
  if (static_cast<int64_t>(logits.size()) != vocabulary_) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", vocabulary_, " logits, got ", logits.size()));
  }
  if (options_.temperature == 0 && options_.logit_bias.empty() && !HasPenalties()) {
    // Without a copy of the logits.
    const std::optional<size_t> token = FirstLargest(logits);
    if (!token.has_value()) return NoLogitError();
    return static_cast<int32_t>(*token);
  }
  logits_.assign(logits.begin(), logits.end());
  for (double& logit : logits_) {
    if (std::isnan(logit)) logit = -kInf;
  }
  AddBiasAndPenalties(history);
  const auto largest = std::max_element(logits_.begin(), logits_.end());
  if (!(*largest > -kInf)) return NoLogitError();
  if (options_.temperature == 0 || *largest == kInf) {
    return static_cast<int32_t>(largest - logits_.begin());
  }
  const uint64_t bits = Random(options_.seed, history.size()).Next();
  return Draw(*largest, static_cast<double>(bits >> 11) * 0x1p-53);
}

}  // namespace belay::llm
