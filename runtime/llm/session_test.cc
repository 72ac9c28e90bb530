#include "runtime/llm/session.h"

#include <atomic>
#include <chrono>
#include <cmath>
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
#include "runtime/llm/text_model.h"

namespace belay::llm {
namespace {

using ::testing::HasSubstr;

// Parameters: whether the program has two methods, and how sessions return to a position.
class SessionTest : public ::testing::TestWithParam<std::pair<bool, Rewind>> {
 protected:
  void SetUp() override {
    using Methods = std::vector<std::pair<std::string, std::string>>;
    const Methods two = {{"prefill", kDynamicModel}, {"decode", kStepModel}};
    ASSERT_OK_AND_ASSIGN(test_,
                         LowerZoo(GetParam().first ? two : Methods{{"forward", kDynamicModel}}));
    ASSERT_OK_AND_ASSIGN(model_, TextModel::Create(*test_.program, test_.kernels, test_.backends,
                                                   {.context_length = kTestContext}));
  }
  absl::StatusOr<Session> New() const { return Session::Create(*model_, {GetParam().second}); }
  // A session in which all tokens are appended at once.
  std::vector<float> LogitsOf(const std::vector<int32_t>& tokens) const {
    absl::StatusOr<Session> session = New();
    EXPECT_OK(session.status());
    EXPECT_OK(session->Append(tokens));
    return Logits(*session);
  }
  static std::vector<float> Logits(Session& session) {
    const auto logits = session.Logits();
    EXPECT_OK(logits.status());
    return std::vector<float>(logits->begin(), logits->end());
  }
  // Methods that evaluate other numbers of tokens round differently.
  static void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << i;
    }
  }

  TestProgram test_;
  std::optional<TextModel> model_;
};

TEST_P(SessionTest, AppendingInPartsGivesTheLogitsOfAll) {
  const std::vector<int32_t> tokens = {5, 90, 3, 17, 44, 8, 1};
  const std::vector<float> all = LogitsOf(tokens);
  ASSERT_OK_AND_ASSIGN(Session session, New());
  ASSERT_OK(session.Append(absl::MakeConstSpan(tokens).first(3)));
  ASSERT_OK(session.Append(absl::MakeConstSpan(tokens).subspan(3, 1)));
  ASSERT_OK(session.Append({}));
  ASSERT_OK(session.Append(absl::MakeConstSpan(tokens).subspan(4)));
  EXPECT_EQ(session.position(), 7);
  EXPECT_EQ(session.tokens(), tokens);
  ExpectNear(Logits(session), all);
  EXPECT_GT(session.state_bytes(), 0u);
}

TEST_P(SessionTest, StreamGivesTheTokensOfGenerate) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  EXPECT_THAT(TokenStream::Create(session, {}), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(TokenStream::Create(session, {.max_tokens = -1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(session.Append({5, 90, 3}));
  ASSERT_OK_AND_ASSIGN(Session other, session.Fork());
  ASSERT_OK_AND_ASSIGN(const Generation all, other.Generate({.max_tokens = 4}));
  ASSERT_OK_AND_ASSIGN(TokenStream stream, TokenStream::Create(session, {.max_tokens = 4}));
  std::vector<int32_t> tokens;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto token, stream.Next());
    if (!token.has_value()) break;
    tokens.push_back(token->id);
    EXPECT_EQ(session.tokens().back(), token->id);
    EXPECT_EQ(stream.result().tokens, tokens);
  }
  EXPECT_EQ(tokens, all.tokens);
  EXPECT_EQ(session.tokens(), other.tokens());
  EXPECT_EQ(stream.result().finish, FinishReason::kMaxTokens);
  ASSERT_OK_AND_ASSIGN(const auto after, stream.Next());
  EXPECT_FALSE(after.has_value());
}

TEST_P(SessionTest, FailedStreamStepsCanBeRepeated) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  ASSERT_OK(session.Append({5, 90, 3}));
  std::atomic<bool> cancelled = false;
  GenerateOptions options;
  options.max_tokens = 3;
  options.execute.cancel = &cancelled;
  ASSERT_OK_AND_ASSIGN(TokenStream stream, TokenStream::Create(session, options));
  ASSERT_OK(stream.Next().status());
  cancelled = true;
  EXPECT_THAT(stream.Next(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(session.position(), 4);
  cancelled = false;
  ASSERT_OK_AND_ASSIGN(const auto token, stream.Next());
  EXPECT_TRUE(token.has_value());
  EXPECT_EQ(session.position(), 5);
}

TEST_P(SessionTest, RandomEditsEqualRecomputing) {
  Random random(TestSeed());
  ASSERT_OK_AND_ASSIGN(Session session, New());
  std::vector<int32_t> tokens;
  const auto token = [&] { return static_cast<int32_t>(random.Below(kTestVocabulary)); };
  std::string saved;
  std::vector<int32_t> saved_tokens;
  for (int step = 0; step < 60; ++step) {
    const size_t kind = random.Below(7);
    SCOPED_TRACE(absl::StrCat("step ", step, ", kind ", kind, ", ", tokens.size(), " tokens"));
    if (kind <= 1 && tokens.size() < kTestContext) {
      std::vector<int32_t> added(1 +
                                 random.Below(std::min<size_t>(4, kTestContext - tokens.size())));
      for (int32_t& t : added) t = token();
      ASSERT_OK(session.Append(added));
      tokens.insert(tokens.end(), added.begin(), added.end());
    } else if (kind == 2) {
      const size_t position = random.Below(tokens.size() + 1);
      ASSERT_OK(session.Cut(static_cast<int64_t>(position)));
      tokens.resize(position);
    } else if (kind == 3) {
      ASSERT_OK_AND_ASSIGN(Session fork, session.Fork());
      if (tokens.size() < kTestContext) ASSERT_OK(fork.Append({token()}));
      if (random.OneIn(2)) {
        tokens = fork.tokens();
        session = std::move(fork);
      }
    } else if (kind == 4) {
      saved = session.Save();
      saved_tokens = tokens;
    } else if (kind == 5 && !saved.empty()) {
      ASSERT_OK(session.Restore(saved));
      tokens = saved_tokens;
    } else if (kind == 6 && !tokens.empty()) {
      GenerateOptions options;
      options.max_tokens = static_cast<int64_t>(random.Below(4));
      options.sampling.temperature = 1;
      options.sampling.seed = random.Next();
      // A failed generation, in the middle of a call, changes nothing.
      GenerateOptions failing = options;
      failing.execute.executed_instructions = 1 + random.Below(60);
      const absl::StatusOr<Generation> failed = session.Generate(failing);
      if (!failed.ok()) {
        EXPECT_EQ(session.tokens(), tokens);
      } else {
        tokens = session.tokens();
      }
      const int64_t before = session.position();
      ASSERT_OK_AND_ASSIGN(const Generation generation, session.Generate(options));
      EXPECT_EQ(session.position(), before + static_cast<int64_t>(generation.tokens.size()));
      tokens.insert(tokens.end(), generation.tokens.begin(), generation.tokens.end());
    }
    ASSERT_EQ(session.tokens(), tokens);
    if (!tokens.empty() && random.OneIn(2)) ExpectNear(Logits(session), LogitsOf(tokens));
  }
}

TEST_P(SessionTest, CancelledAndFailedCallsChangeNothing) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  ASSERT_OK(session.Append({1, 2, 3}));
  const std::vector<float> before = Logits(session);
  const std::atomic<bool> cancel = true;
  ExecuteOptions cancelled;
  cancelled.cancel = &cancel;
  EXPECT_THAT(session.Append({4, 5}, cancelled), StatusIs(absl::StatusCode::kCancelled));
  ExecuteOptions late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_THAT(session.Append({4}, late), StatusIs(absl::StatusCode::kDeadlineExceeded));
  for (uint64_t instructions = 1; instructions < 60; instructions += 7) {
    ExecuteOptions bounded;
    bounded.executed_instructions = instructions;
    EXPECT_THAT(session.Append({4, 5, 6}, bounded), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(session.position(), 3);
    EXPECT_EQ(Logits(session), before);
  }
  GenerateOptions generate;
  generate.execute = cancelled;
  EXPECT_THAT(session.Generate(generate), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(session.position(), 3);
  EXPECT_EQ(Logits(session), before);
  ASSERT_OK(session.Append({4}));
  ExpectNear(Logits(session), LogitsOf({1, 2, 3, 4}));
}

TEST_P(SessionTest, InterruptedGenerationContinuesEqually) {
  GenerateOptions options;
  options.sampling.temperature = 1.5;
  options.sampling.seed = 3;
  options.max_tokens = 9;
  ASSERT_OK_AND_ASSIGN(Session whole, New());
  ASSERT_OK(whole.Append({7, 8}));
  ASSERT_OK_AND_ASSIGN(const Generation all, whole.Generate(options));
  ASSERT_OK_AND_ASSIGN(Session parts, New());
  ASSERT_OK(parts.Append({7, 8}));
  options.max_tokens = 4;
  ASSERT_OK(parts.Generate(options).status());
  ASSERT_OK_AND_ASSIGN(Session other, New());
  ASSERT_OK(other.Restore(parts.Save()));
  options.max_tokens = 5;
  ASSERT_OK(other.Generate(options).status());
  EXPECT_EQ(other.tokens(), whole.tokens());
  EXPECT_EQ(all.tokens.size(), 9u);
}

TEST_P(SessionTest, GenerationEndsForEachReason) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  ASSERT_OK(session.Append({1, 2, 3}));
  GenerateOptions options;
  options.max_tokens = 5;
  ASSERT_OK_AND_ASSIGN(Session fork, session.Fork());
  ASSERT_OK_AND_ASSIGN(const Generation five, fork.Generate(options));
  EXPECT_EQ(five.finish, FinishReason::kMaxTokens);
  ASSERT_EQ(five.tokens.size(), 5u);
  EXPECT_EQ(fork.position(), 8);

  options.max_tokens = 100;
  ASSERT_OK_AND_ASSIGN(fork, session.Fork());
  ASSERT_OK_AND_ASSIGN(const Generation full, fork.Generate(options));
  EXPECT_EQ(full.finish, FinishReason::kContextFull);
  EXPECT_EQ(fork.position(), kTestContext);

  options.stop_tokens = {full.tokens.back(), full.tokens[1]};
  ASSERT_OK_AND_ASSIGN(fork, session.Fork());
  ASSERT_OK_AND_ASSIGN(const Generation stopped, fork.Generate(options));
  EXPECT_EQ(stopped.finish, FinishReason::kStopToken);
  EXPECT_LE(stopped.tokens.size(), 1u);

  options.stop_tokens.clear();
  std::vector<int32_t> seen;
  options.on_token = [&](const GeneratedToken& token) {
    seen.push_back(token.id);
    return seen.size() < 2;
  };
  ASSERT_OK_AND_ASSIGN(fork, session.Fork());
  ASSERT_OK_AND_ASSIGN(const Generation called, fork.Generate(options));
  EXPECT_EQ(called.finish, FinishReason::kCallback);
  EXPECT_EQ(called.tokens, seen);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(FinishReasonName(called.finish), "callback");
}

TEST_P(SessionTest, StreamsTextUpToAStopString) {
  // Token t is the word "w<t> ".
  std::string vocabulary;
  for (int t = 0; t < kTestVocabulary; ++t) {
    absl::StrAppend(&vocabulary, t == 0 ? "" : ",", "\"w", t, " \":", t);
  }
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer,
                       Tokenizer::FromJson(absl::StrCat(
                           R"({"model":{"type":"WordLevel","unk_token":"w0 ","vocab":{)",
                           vocabulary, R"(}},"decoder":{"type":"Fuse"}})")));
  ASSERT_OK_AND_ASSIGN(Session session, New());
  ASSERT_OK(session.Append({1, 2, 3}));
  GenerateOptions options;
  options.max_tokens = 6;
  options.tokenizer = &tokenizer;
  std::string streamed;
  options.on_token = [&](const GeneratedToken& token) {
    streamed += token.text;
    return true;
  };
  ASSERT_OK_AND_ASSIGN(Session fork, session.Fork());
  ASSERT_OK_AND_ASSIGN(const Generation all, fork.Generate(options));
  EXPECT_EQ(all.text, *tokenizer.Decode(all.tokens));
  EXPECT_EQ(streamed, all.text);

  // Spans the third and the fourth token.
  const std::string stop = absl::StrCat(all.tokens[2], " w", all.tokens[3]);
  options.stop_strings = {"never", stop};
  streamed.clear();
  ASSERT_OK_AND_ASSIGN(fork, session.Fork());
  ASSERT_OK_AND_ASSIGN(const Generation stopped, fork.Generate(options));
  EXPECT_EQ(stopped.finish, FinishReason::kStopString);
  EXPECT_EQ(stopped.text, all.text.substr(0, all.text.find(stop)));
  EXPECT_EQ(streamed, stopped.text);
}

TEST_P(SessionTest, RejectsTokensOutOfRange) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  EXPECT_THAT(session.Append({1, 96}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("token 1: expected a value in [0, 96), got 96")));
  EXPECT_THAT(session.Append({-1}), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(session.Append(std::vector<int32_t>(17, 1)),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("expected at most 16 tokens (the context length), got 0 + 17")));
  EXPECT_EQ(session.position(), 0);
  EXPECT_THAT(session.Cut(1), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(session.Cut(-1), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_P(SessionTest, EmptySessionsHaveNoLogits) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  EXPECT_THAT(session.Logits(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(session.Generate({}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_P(SessionTest, RejectsWrongOptions) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  ASSERT_OK(session.Append({1}));
  GenerateOptions options;
  options.max_tokens = -1;
  EXPECT_THAT(session.Generate(options), StatusIs(absl::StatusCode::kInvalidArgument));
  options = {};
  options.sampling.top_p = 0;
  EXPECT_THAT(session.Generate(options), StatusIs(absl::StatusCode::kInvalidArgument));
  options = {};
  options.stop_strings = {"x"};
  EXPECT_THAT(session.Generate(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("require a tokenizer")));
}

TEST_P(SessionTest, RejectsDamagedSessions) {
  ASSERT_OK_AND_ASSIGN(Session session, New());
  ASSERT_OK(session.Append({1, 2, 3}));
  const std::string saved = session.Save();
  ASSERT_OK_AND_ASSIGN(Session other, New());
  ASSERT_OK(other.Append({9}));
  const std::vector<float> before = Logits(other);
  Random random(TestSeed());
  for (int i = 0; i < 50; ++i) {
    std::string damaged = saved;
    damaged[random.Below(damaged.size())] ^= static_cast<char>(1 + random.Below(255));
    EXPECT_FALSE(other.Restore(damaged).ok());
    EXPECT_FALSE(other.Restore(saved.substr(0, random.Below(saved.size()))).ok());
  }
  EXPECT_THAT(other.Restore("x"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(other.position(), 1);
  EXPECT_EQ(Logits(other), before);
}

TEST_P(SessionTest, RejectsSessionsOfOtherModels) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"step", kStepModel}}));
  ASSERT_OK_AND_ASSIGN(const TextModel model,
                       TextModel::Create(*test.program, test.kernels, test.backends));
  ASSERT_OK_AND_ASSIGN(Session other, Session::Create(model));
  ASSERT_OK(other.Append({4}));
  ASSERT_OK_AND_ASSIGN(Session session, New());
  EXPECT_THAT(session.Restore(other.Save()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of another model")));
}

INSTANTIATE_TEST_SUITE_P(Models, SessionTest,
                         ::testing::Values(std::pair(true, Rewind::kEvaluateAgain),
                                           std::pair(true, Rewind::kMovePosition),
                                           std::pair(false, Rewind::kEvaluateAgain),
                                           std::pair(false, Rewind::kMovePosition)),
                         [](const auto& info) {
                           return absl::StrCat(info.param.first ? "TwoMethods" : "OneMethod",
                                               info.param.second == Rewind::kMovePosition
                                                   ? "MovePosition"
                                                   : "EvaluateAgain");
                         });

}  // namespace
}  // namespace belay::llm
