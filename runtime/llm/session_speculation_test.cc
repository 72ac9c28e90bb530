// Speculative decoding of sessions.
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/llm/llm_testing.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"

namespace belay::llm {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kContext = 48;

class SpeculationTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(test_,
                         LowerGguf(GetParam(), {.context_length = kContext, .speculate = 4}));
    ASSERT_OK_AND_ASSIGN(model_, TextModel::Create(*test_.program, test_.kernels, test_.backends));
  }
  absl::StatusOr<Generation> Generate(const std::vector<int32_t>& prompt,
                                      const GenerateOptions& options) const {
    ABSL_ASSIGN_OR_RETURN(Session session, Session::Create(*model_));
    ABSL_RETURN_IF_ERROR(session.Append(prompt));
    ABSL_ASSIGN_OR_RETURN(Generation generation, session.Generate(options));
    std::vector<int32_t> all = prompt;
    all.insert(all.end(), generation.tokens.begin(), generation.tokens.end());
    EXPECT_EQ(session.tokens(), all);
    return generation;
  }

  TestProgram test_;
  std::optional<TextModel> model_;
};

TEST_P(SpeculationTest, GivesTheTokensWithoutIt) {
  Random random(TestSeed());
  int64_t drafted = 0, accepted = 0;
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE(i);
    std::vector<int32_t> prompt(2 + random.Below(20));
    for (int32_t& t : prompt) t = static_cast<int32_t>(random.Below(random.OneIn(2) ? 3 : 96));
    GenerateOptions options;
    options.max_tokens = static_cast<int64_t>(random.Below(60));
    if (random.OneIn(3)) {
      options.sampling.temperature = 0.7;
      options.sampling.seed = random.Next();
    }
    if (random.OneIn(4)) options.sampling.repetition_penalty = 1.3;
    ASSERT_OK_AND_ASSIGN(const Generation plain, Generate(prompt, options));
    if (random.OneIn(4) && !plain.tokens.empty()) options.stop_tokens = {plain.tokens.back()};
    ASSERT_OK_AND_ASSIGN(const Generation expected, Generate(prompt, options));
    // More than the method supports is cut.
    options.speculate = static_cast<int64_t>(1 + random.Below(6));
    ASSERT_OK_AND_ASSIGN(const Generation generation, Generate(prompt, options));
    EXPECT_EQ(generation.tokens, expected.tokens);
    EXPECT_EQ(generation.finish, expected.finish);
    EXPECT_LE(generation.accepted, generation.drafted);
    EXPECT_EQ(expected.drafted, 0);
    drafted += generation.drafted;
    accepted += generation.accepted;
  }
  EXPECT_GT(drafted, 0);
  EXPECT_GT(accepted, 0);
}

TEST_P(SpeculationTest, CutsForksAndFailuresDropTheDraft) {
  Random random(TestSeed());
  GenerateOptions options;
  options.speculate = 4;
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(*model_));
  ASSERT_OK(session.Append({3, 4, 3, 4, 3, 4}));
  for (int step = 0; step < 60; ++step) {
    SCOPED_TRACE(step);
    ASSERT_OK_AND_ASSIGN(TokenStream stream, TokenStream::Create(session, options));
    ASSERT_OK(stream.Next().status());
    GenerateOptions failing = options;
    failing.execute.executed_instructions = 1 + random.Below(60);
    const std::vector<int32_t> before = session.tokens();
    if (!session.Generate(failing).ok()) EXPECT_EQ(session.tokens(), before);
    if (session.position() > 10 || random.OneIn(6)) {
      ASSERT_OK(session.Cut(
          1 + static_cast<int64_t>(random.Below(static_cast<size_t>(session.position())))));
    }
    if (random.OneIn(6)) {
      ASSERT_OK_AND_ASSIGN(Session fork, session.Fork());
      session = std::move(fork);
    }
    if (random.OneIn(6)) ASSERT_OK(session.Append({4, 3, 4}));
    ASSERT_OK_AND_ASSIGN(const auto logits, session.Logits());
    ASSERT_OK_AND_ASSIGN(Session other, Session::Create(*model_));
    ASSERT_OK(other.Append(session.tokens()));
    ASSERT_OK_AND_ASSIGN(const auto expected, other.Logits());
    for (size_t i = 0; i < logits.size(); ++i) {
      ASSERT_NEAR(logits[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SpeculationTest, ::testing::Values("llama", "qwen3", "gemma3"),
                         [](const auto& info) { return info.param; });

TEST(SpeculationOfOneMethodTest, UsesAMethodWithLogitsOfAllTokens) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"forward", kDynamicModel}}));
  ASSERT_OK_AND_ASSIGN(const TextModel model,
                       TextModel::Create(*test.program, test.kernels, test.backends,
                                         {.context_length = kTestContext}));
  EXPECT_EQ(model.verify(), &model.prefill());
  std::vector<int32_t> tokens[2];
  for (int64_t speculate : {0, 3}) {
    ASSERT_OK_AND_ASSIGN(Session session, Session::Create(model, {Rewind::kMovePosition}));
    ASSERT_OK(session.Append({3, 4, 5, 3, 4, 5, 3, 4}));
    ASSERT_OK_AND_ASSIGN(const Generation generation, session.Generate({.speculate = speculate}));
    EXPECT_EQ(generation.finish, FinishReason::kContextFull);
    EXPECT_EQ(generation.drafted > 0, speculate > 0);
    tokens[speculate > 0] = generation.tokens;
  }
  EXPECT_EQ(tokens[0], tokens[1]);
  // The program does not state that its cache is written by position.
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(model));
  ASSERT_OK(session.Append({3}));
  EXPECT_THAT(session.Generate({.speculate = 1}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("use_positional_cache=1")));
}

TEST(SpeculationErrorTest, NamesWhatIsMissing) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerGguf("llama", {.context_length = kContext}));
  ASSERT_OK_AND_ASSIGN(const TextModel model,
                       TextModel::Create(*test.program, test.kernels, test.backends));
  EXPECT_TRUE(model.use_positional_cache());
  EXPECT_EQ(model.verify(), nullptr);
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(model));
  ASSERT_OK(session.Append({3}));
  EXPECT_THAT(session.Generate({.speculate = 1}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("expected a method that returns logits of all its tokens, got "
                                 "method 'forward'")));
  EXPECT_THAT(session.Generate({.speculate = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("speculate")));
}

TEST(SpeculationErrorTest, RejectsVerifyMethodsWithOneRowOfLogits) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test,
                       LowerZoo({{"forward", kDynamicModel}, {"verify", "mlp"}}));
  EXPECT_THAT(TextModel::Create(*test.program, test.kernels, test.backends),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("method 'verify'")));
}

}  // namespace
}  // namespace belay::llm
