#include "runtime/llm/sampler.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::llm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

// Returns how often each token is drawn in 4,000 samples with different positions.
std::map<int32_t, int> Draws(const SamplerOptions& options, const std::vector<float>& logits) {
  absl::StatusOr<Sampler> sampler = Sampler::Create(options, static_cast<int64_t>(logits.size()));
  EXPECT_OK(sampler.status());
  std::map<int32_t, int> counts;
  std::vector<int32_t> history;
  for (int i = 0; i < 4000; ++i) {
    const absl::StatusOr<int32_t> token = sampler->Sample(logits, history);
    EXPECT_OK(token.status());
    ++counts[*token];
    history.push_back(0);
  }
  return counts;
}

std::set<int32_t> Tokens(const SamplerOptions& options, const std::vector<float>& logits) {
  std::set<int32_t> tokens;
  for (const auto& [token, count] : Draws(options, logits)) tokens.insert(token);
  return tokens;
}

int32_t Greedy(SamplerOptions options, const std::vector<float>& logits,
               const std::vector<int32_t>& history = {}) {
  options.temperature = 0;
  absl::StatusOr<Sampler> sampler = Sampler::Create(options, static_cast<int64_t>(logits.size()));
  EXPECT_OK(sampler.status());
  const absl::StatusOr<int32_t> token = sampler->Sample(logits, history);
  EXPECT_OK(token.status());
  return token.ok() ? *token : -1;
}

const std::vector<float> kLogits = {1, 3, 2, 0, 3};

TEST(SamplerTest, GreedyReturnsTheFirstMaximum) {
  EXPECT_EQ(Greedy({}, kLogits), 1);
  EXPECT_EQ(Greedy({.logit_bias = {{3, 0}}}, kLogits), 1);
  EXPECT_EQ(Greedy({}, {NAN, -kInf, -5, kInf, kInf}), 3);
}

TEST(SamplerTest, GreedyFindsTheFirstMaximumAmongNanAtAnyPosition) {
  for (const size_t size : {1u, 15u, 17u, 4096u, 4097u, 9000u}) {
    absl::StatusOr<Sampler> sampler =
        Sampler::Create({.temperature = 0}, static_cast<int64_t>(size));
    ASSERT_OK(sampler.status());
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      std::vector<float> logits(size, std::numeric_limits<float>::quiet_NaN());
      for (size_t i = 0; i < size; i += 3) logits[i] = -kInf;
      logits[at] = -5;
      logits[size - 1] = -5;
      ASSERT_OK_AND_ASSIGN(const int32_t token, sampler->Sample(logits, {}));
      EXPECT_EQ(token, static_cast<int32_t>(at)) << size << " logits";
    }
  }
}

TEST(SamplerTest, FrequenciesFollowTheSoftmax) {
  // Standard deviation of a count: sqrt(4000 p (1 - p)) <= 32. Five of them: 160.
  const std::map<int32_t, int> counts = Draws({.seed = TestSeed()}, kLogits);
  double total = 0;
  for (float logit : kLogits) total += std::exp(logit);
  for (size_t t = 0; t < kLogits.size(); ++t) {
    EXPECT_NEAR(counts.at(static_cast<int32_t>(t)), 4000 * std::exp(kLogits[t]) / total, 160);
  }
}

TEST(SamplerTest, TemperatureDividesLogits) {
  const std::map<int32_t, int> counts = Draws({.seed = TestSeed(), .temperature = 0.5}, {0, 1});
  EXPECT_NEAR(counts.at(1), 4000 / (1 + std::exp(-2.0)), 160);
}

TEST(SamplerTest, TopKKeepsTheLargest) {
  EXPECT_EQ(Tokens({.top_k = 2}, kLogits), (std::set<int32_t>{1, 4}));
  EXPECT_EQ(Tokens({.top_k = 1}, kLogits), (std::set<int32_t>{1}));
  EXPECT_EQ(Tokens({.top_k = 3}, kLogits), (std::set<int32_t>{1, 2, 4}));
}

TEST(SamplerTest, TopPKeepsTheFewestThatReachTheSum) {
  // Probabilities: 0.5, 0.25, 0.125, 0.125.
  const float ln2 = std::log(2.0f);
  const std::vector<float> logits = {0, 2 * ln2, ln2, 0};
  EXPECT_EQ(Tokens({.top_p = 0.4}, logits), (std::set<int32_t>{1}));
  EXPECT_EQ(Tokens({.top_p = 0.7}, logits), (std::set<int32_t>{1, 2}));
  EXPECT_EQ(Tokens({.top_p = 0.8}, logits), (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(Tokens({.top_p = 1}, logits).size(), 4u);
}

TEST(SamplerTest, MinPKeepsAShareOfTheLargest) {
  const float ln2 = std::log(2.0f);
  const std::vector<float> logits = {0, 2 * ln2, ln2, -1};
  EXPECT_EQ(Tokens({.min_p = 0.6}, logits), (std::set<int32_t>{1}));
  EXPECT_EQ(Tokens({.min_p = 0.4}, logits), (std::set<int32_t>{1, 2}));
  EXPECT_EQ(Tokens({.min_p = 0.2}, logits), (std::set<int32_t>{0, 1, 2}));
}

TEST(SamplerTest, RepetitionPenaltyDividesPositiveAndMultipliesNegativeLogits) {
  EXPECT_EQ(Greedy({.repetition_penalty = 2}, {3, 2}, {0}), 1);       // 1.5, 2
  EXPECT_EQ(Greedy({.repetition_penalty = 2}, {-1, -1.5f}, {0}), 1);  // -2, -1.5
  EXPECT_EQ(Greedy({.repetition_penalty = 2}, {3, 2}, {1}), 0);
}

TEST(SamplerTest, FrequencyPenaltyCountsOccurrences) {
  const SamplerOptions options = {.frequency_penalty = 0.6};
  EXPECT_EQ(Greedy(options, {3, 2}, {0}), 0);
  EXPECT_EQ(Greedy(options, {3, 2}, {0, 0}), 1);
}

TEST(SamplerTest, PresencePenaltyCountsOnce) {
  const SamplerOptions options = {.presence_penalty = 0.9};
  EXPECT_EQ(Greedy(options, {3, 2}, {0, 0, 0}), 0);
  EXPECT_EQ(Greedy({.presence_penalty = 1.1}, {3, 2}, {0}), 1);
}

TEST(SamplerTest, PenaltyWindowLimitsTheHistory) {
  EXPECT_EQ(Greedy({.presence_penalty = 2, .penalty_window = 2}, {3, 2}, {0, 1, 1}), 0);
  EXPECT_EQ(Greedy({.presence_penalty = 2, .penalty_window = 3}, {3, 2}, {0, 0, 0}), 1);
}

TEST(SamplerTest, LogitBiasIsAdded) {
  EXPECT_EQ(Greedy({.logit_bias = {{0, 2.5}, {4, -kInf}}}, kLogits), 0);
  EXPECT_EQ(Tokens({.logit_bias = {{1, -kInf}, {4, -kInf}}}, kLogits),
            (std::set<int32_t>{0, 2, 3}));
}

TEST(SamplerTest, SameSeedAndPositionGiveTheSameToken) {
  const std::vector<float> logits(50, 1.0f);
  const SamplerOptions options = {.seed = 7};
  ASSERT_OK_AND_ASSIGN(Sampler first, Sampler::Create(options, 50));
  ASSERT_OK_AND_ASSIGN(Sampler second, Sampler::Create(options, 50));
  std::vector<int32_t> history, other(20, 3);
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(const int32_t token, first.Sample(logits, history));
    history.push_back(token);
  }
  ASSERT_OK_AND_ASSIGN(const int32_t next, first.Sample(logits, history));
  ASSERT_OK_AND_ASSIGN(const int32_t same, second.Sample(logits, other));
  EXPECT_EQ(next, same);
  EXPECT_GT(std::set<int32_t>(history.begin(), history.end()).size(), 5u);
}

TEST(SamplerTest, NanIsNeverDrawn) {
  EXPECT_EQ(Tokens({}, {NAN, 1, -kInf, 1}), (std::set<int32_t>{1, 3}));
  EXPECT_EQ(Greedy({}, {NAN, 1}), 1);
  EXPECT_EQ(Tokens({}, {1, kInf}), (std::set<int32_t>{1}));
}

TEST(SamplerTest, RejectsLogitsWithoutAFiniteValue) {
  ASSERT_OK_AND_ASSIGN(Sampler sampler, Sampler::Create({}, 2));
  ASSERT_OK_AND_ASSIGN(Sampler greedy, Sampler::Create(SamplerOptions::Greedy(), 2));
  for (Sampler* each : {&sampler, &greedy}) {
    EXPECT_THAT(each->Sample({-kInf, NAN}, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("only -infinity and NaN")));
  }
  EXPECT_THAT(sampler.Sample({1}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 2 logits, got 1")));
}

TEST(SamplerTest, RejectsOptionsOutOfRange) {
  const SamplerOptions options = {.temperature = -1,
                                  .top_k = -2,
                                  .top_p = 0,
                                  .min_p = 2,
                                  .repetition_penalty = 0,
                                  .frequency_penalty = NAN,
                                  .presence_penalty = kInf,
                                  .penalty_window = -1,
                                  .logit_bias = {{9, 0}, {1, NAN}}};
  EXPECT_THAT(Sampler::Create(options, 5),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("temperature: expected a number of at least 0, got -1; "),
                             HasSubstr("top_k"), HasSubstr("top_p"), HasSubstr("min_p"),
                             HasSubstr("repetition_penalty"), HasSubstr("frequency_penalty"),
                             HasSubstr("presence_penalty"), HasSubstr("penalty_window"),
                             HasSubstr("a token of the vocabulary, got 9"),
                             HasSubstr("or -infinity, got nan"))));
  EXPECT_THAT(Sampler::Create({}, 0), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::llm
