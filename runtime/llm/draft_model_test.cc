// Speculative decoding of sessions with a draft model.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/random.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/testing.h"
#include "runtime/llm/llm_testing.h"
#include "runtime/llm/session.h"
#include "runtime/llm/text_model.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kContext = 48;

// A program and its model.
struct Model {
  TestProgram test;  // not moved after the model is created
  std::optional<TextModel> model = std::nullopt;
};

absl::StatusOr<std::unique_ptr<const Model>> ModelOf(absl::StatusOr<TestProgram> test,
                                                     int64_t context_length = 0) {
  if (!test.ok()) return test.status();
  auto result = std::make_unique<Model>(*std::move(test));
  ABSL_ASSIGN_OR_RETURN(
      result->model, TextModel::Create(*result->test.program, result->test.kernels,
                                       result->test.backends, {.context_length = context_length}));
  return result;
}

// The most likely token after token t is min(t + 1, vocabulary - 1).
absl::StatusOr<std::unique_ptr<const Model>> CountingModel(int64_t vocabulary,
                                                           int64_t context_length = kContext) {
  return ModelOf(LowerText(absl::StrReplaceAll(R"(program aten {
    ranges { s0: [1, 48] }
    constants { state "cache": f32[1,48] }
    graph(%cache: f32[1,48] buffer "cache", %input_ids: i64[1,s0] user_input,
          %cache_position: i64[s0] user_input) {
      %f: f32[1,s0] = aten._to_copy.default(%input_ids, dtype=dtype:f32)
      %u: f32[1,s0,1] = aten.unsqueeze.default(%f, -1)
      %next: f32[1,s0,1] = aten.add.Scalar(%u, 1)
      %all: f32[V] = aten.arange.default(V, dtype=dtype:f32)
      %d: f32[1,s0,V] = aten.sub.Tensor(%all, %next)
      %q: f32[1,s0,V] = aten.mul.Tensor(%d, %d)
      %logits: f32[1,s0,V] = aten.neg.default(%q)
      %c: f32[1,48] = aten.add.Scalar(%cache, 1)
      return (%c buffer_mutation "cache", %logits user_output) } })",
                                               {{"V", std::to_string(vocabulary)}})),
                 context_length);
}

absl::StatusOr<Session> SessionOf(const Model& model, const std::vector<int32_t>& prompt = {}) {
  ABSL_ASSIGN_OR_RETURN(Session session,
                        Session::Create(*model.model, {.rewind = Rewind::kMovePosition}));
  ABSL_RETURN_IF_ERROR(session.Append(prompt));
  return session;
}

class DraftModelTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(target_,
                         ModelOf(LowerGguf("llama", {.context_length = kContext, .speculate = 4})));
    ASSERT_OK_AND_ASSIGN(draft_, ModelOf(LowerGguf(GetParam(), {.context_length = kContext})));
  }
  std::unique_ptr<const Model> target_, draft_;
};

TEST_P(DraftModelTest, GivesTheTokensWithoutIt) {
  Random random(TestSeed());
  ASSERT_OK_AND_ASSIGN(Session draft, SessionOf(*draft_, {4, 4}));
  int64_t drafted = 0, accepted = 0;
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    std::vector<int32_t> prompt(1 + random.Below(20));
    for (int32_t& t : prompt) t = static_cast<int32_t>(random.Below(kTestVocabulary));
    GenerateOptions options;
    options.max_tokens = static_cast<int64_t>(random.Below(60));
    const bool is_greedy = !random.OneIn(3);
    if (!is_greedy) {
      options.sampling.temperature = 0.7;
      options.sampling.seed = random.Next();
    }
    ASSERT_OK_AND_ASSIGN(Session plain, SessionOf(*target_, prompt));
    ASSERT_OK_AND_ASSIGN(const Generation expected, plain.Generate(options));
    // More than the method supports is cut.
    options.speculate = static_cast<int64_t>(1 + random.Below(6));
    options.draft = &draft;
    ASSERT_OK_AND_ASSIGN(Session session, SessionOf(*target_, prompt));
    ASSERT_OK_AND_ASSIGN(const Generation generation, session.Generate(options));
    EXPECT_EQ(generation.tokens, expected.tokens);
    EXPECT_EQ(generation.finish, expected.finish);
    EXPECT_EQ(session.tokens(), plain.tokens());
    EXPECT_LE(generation.accepted, generation.drafted);
    // A model drafts for itself without an error.
    if (is_greedy && GetParam() == "llama") EXPECT_EQ(generation.accepted, generation.drafted);
    drafted += generation.drafted;
    accepted += generation.accepted;
  }
  EXPECT_GT(drafted, 0);
  if (GetParam() == "llama") EXPECT_GT(accepted, 0);
}

TEST_P(DraftModelTest, FailuresChangeNothing) {
  ASSERT_OK_AND_ASSIGN(Session draft, SessionOf(*draft_));
  ASSERT_OK_AND_ASSIGN(Session plain, SessionOf(*target_, {36, 24, 67}));
  ASSERT_OK_AND_ASSIGN(const Generation expected, plain.Generate({.max_tokens = 20}));
  for (uint64_t instructions = 1; instructions < 80; instructions += 9) {
    SCOPED_TRACE(instructions);
    ASSERT_OK_AND_ASSIGN(Session session, SessionOf(*target_, {36, 24, 67}));
    GenerateOptions options{.max_tokens = 20, .speculate = 3, .draft = &draft};
    options.execute.executed_instructions = instructions;
    if (!session.Generate(options).ok()) EXPECT_THAT(session.tokens(), ElementsAre(36, 24, 67));
    const std::atomic<bool> cancelled = true;
    options.execute = {.cancel = &cancelled};
    EXPECT_THAT(session.Generate(options), StatusIs(absl::StatusCode::kCancelled));
    options.execute = {};
    ASSERT_OK(session.Cut(3));
    ASSERT_OK_AND_ASSIGN(const Generation generation, session.Generate(options));
    EXPECT_EQ(generation.tokens, expected.tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DraftModelTest, ::testing::Values("llama", "qwen3"),
                         [](const auto& info) { return info.param; });

// Generates 8 tokens after {1, 2} with 3 drafted tokens per call.
absl::StatusOr<Generation> Count(int64_t vocabulary, int64_t draft_vocabulary,
                                 int64_t draft_context = kContext) {
  ABSL_ASSIGN_OR_RETURN(const auto target, CountingModel(vocabulary));
  ABSL_ASSIGN_OR_RETURN(const auto small, CountingModel(draft_vocabulary, draft_context));
  ABSL_ASSIGN_OR_RETURN(Session session, SessionOf(*target, {1, 2}));
  ABSL_ASSIGN_OR_RETURN(Session draft, SessionOf(*small));
  return session.Generate({.max_tokens = 8, .speculate = 3, .draft = &draft});
}

TEST(DraftModelOfOtherSizesTest, AcceptsAllOfAnEqualModel) {
  ASSERT_OK_AND_ASSIGN(const Generation generation, Count(20, 20));
  EXPECT_THAT(generation.tokens, ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  // 3 | 4 5 6 7 | 8 9 10: the prompt gives the first token, each call one more than its draft.
  EXPECT_EQ(generation.drafted, 5);
  EXPECT_EQ(generation.accepted, 5);
}

TEST(DraftModelOfOtherSizesTest, DraftsNothingAfterTokensThatItDoesNotHave) {
  ASSERT_OK_AND_ASSIGN(const Generation generation, Count(20, 6));
  EXPECT_THAT(generation.tokens, ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(generation.drafted, 3);  // 4 5 5
  EXPECT_EQ(generation.accepted, 2);
}

TEST(DraftModelOfOtherSizesTest, TokensThatTheModelDoesNotHaveEndADraft) {
  ASSERT_OK_AND_ASSIGN(const Generation generation, Count(6, 20));
  EXPECT_THAT(generation.tokens, ElementsAre(3, 4, 5, 5, 5, 5, 5, 5));
  EXPECT_EQ(generation.drafted, 2);  // 4 5, without 6
  EXPECT_EQ(generation.accepted, 2);
}

TEST(DraftModelOfOtherSizesTest, AFullContextEndsDrafts) {
  ASSERT_OK_AND_ASSIGN(const Generation generation, Count(20, 20, 5));
  EXPECT_THAT(generation.tokens, ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(generation.drafted, 2);  // after 1 2 3
  EXPECT_EQ(generation.accepted, 2);
}

TEST(DraftModelErrorTest, ChecksTheDraftSession) {
  ASSERT_OK_AND_ASSIGN(const auto target, CountingModel(20));
  ASSERT_OK_AND_ASSIGN(const auto unknown, CountingModel(20, 0));
  ASSERT_OK_AND_ASSIGN(Session session, SessionOf(*target, {1}));
  ASSERT_OK_AND_ASSIGN(Session draft, SessionOf(*target));
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(session.Generate({.draft = &draft}), StatusIs(kInvalid, HasSubstr("`speculate`")));
  EXPECT_THAT(session.Generate({.speculate = 1, .draft = &session}),
              StatusIs(kInvalid, HasSubstr("another session")));
  ASSERT_OK_AND_ASSIGN(Session unbounded, SessionOf(*unknown));
  EXPECT_THAT(session.Generate({.speculate = 1, .draft = &unbounded}),
              StatusIs(kInvalid, HasSubstr("get_max_seq_len=N")));
  ASSERT_OK_AND_ASSIGN(Session again, Session::Create(*target->model));
  EXPECT_THAT(session.Generate({.speculate = 1, .draft = &again}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("use_positional_cache=1")));
}

}  // namespace
}  // namespace belay::llm
