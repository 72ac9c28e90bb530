#include "runtime/llm/batch.h"

#include <atomic>
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

constexpr int64_t kSessions = 3, kContext = 24;

std::vector<float> LogitsOf(Session& session) {
  const auto logits = session.Logits();
  EXPECT_OK(logits.status());
  if (!logits.ok()) return {};
  return std::vector<float>(logits->begin(), logits->end());
}

// Parameter: a model of exir/gguf/testdata.
class BatchTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        test_,
        LowerGguf(GetParam(), {.context_length = kContext, .sessions = kSessions, .speculate = 3}));
    ASSERT_OK_AND_ASSIGN(model_, TextModel::Create(*test_.program, test_.kernels, test_.backends));
  }
  // Logits of a single session with these tokens.
  std::vector<float> Expected(const std::vector<int32_t>& tokens) const {
    absl::StatusOr<Session> session = Session::Create(*model_);
    EXPECT_OK(session.status());
    EXPECT_OK(session->Append(tokens));
    return LogitsOf(*session);
  }
  // Methods that evaluate other numbers of tokens round differently.
  void ExpectLogitsOfTokens(Session& session) const {
    const std::vector<float> a = LogitsOf(session), b = Expected(session.tokens());
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << i;
    }
  }

  TestProgram test_;
  std::optional<TextModel> model_;
};

TEST_P(BatchTest, RandomArrivalsEqualSingleSessions) {
  Random random(TestSeed());
  ASSERT_OK_AND_ASSIGN(Batch batch, Batch::Create(*model_));
  ASSERT_EQ(batch.size(), kSessions);
  EXPECT_GT(batch.state_bytes(), 0u);
  const auto tokens = [&](size_t count) {
    std::vector<int32_t> result(count);
    for (int32_t& t : result) t = static_cast<int32_t>(random.Below(kTestVocabulary));
    return result;
  };
  std::vector<std::optional<TokenStream>> streams(kSessions);
  for (int step = 0; step < 60; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    const auto i = static_cast<int64_t>(random.Below(kSessions));
    Session& session = batch.session(i);
    std::optional<TokenStream>& stream = streams[static_cast<size_t>(i)];
    if (!stream.has_value()) {
      EXPECT_EQ(session.position(), 0);
      ASSERT_OK(session.Append(tokens(1 + random.Below(9))));
      GenerateOptions options;
      options.sampling.temperature = random.OneIn(2) ? 1 : 0;
      options.sampling.seed = random.Next();
      options.speculate = random.OneIn(3) ? 3 : 0;
      ASSERT_OK_AND_ASSIGN(stream, TokenStream::Create(session, options));
    } else if (random.OneIn(5)) {
      ASSERT_OK(session.Cut(0));
      stream.reset();
    } else if (random.OneIn(5)) {
      ASSERT_OK(session.Cut(
          1 + static_cast<int64_t>(random.Below(static_cast<size_t>(session.position())))));
    } else if (random.OneIn(5) && session.position() + 4 <= kContext) {
      ASSERT_OK(session.Append(tokens(1 + random.Below(4))));
    } else if (random.OneIn(5)) {
      ASSERT_OK_AND_ASSIGN(Session fork, session.Fork());
      EXPECT_EQ(fork.tokens(), session.tokens());
      ExpectLogitsOfTokens(fork);
      ASSERT_OK(session.Restore(fork.Save()));
    }
    // Most streams sample a token; at the end of the context they sample none.
    for (std::optional<TokenStream>& other : streams) {
      if (other.has_value() && !random.OneIn(4)) ASSERT_OK(other->Next().status());
    }
    ASSERT_OK(batch.Step());
    Session& checked = batch.session(static_cast<int64_t>(random.Below(kSessions)));
    if (checked.position() > 0) ExpectLogitsOfTokens(checked);
    if (HasFatalFailure()) return;
  }
}

TEST_P(BatchTest, GeneratesTheTokensOfSingleSessions) {
  ASSERT_OK_AND_ASSIGN(Batch batch, Batch::Create(*model_));
  std::vector<TokenStream> streams;
  for (int32_t i = 0; i < kSessions; ++i) {
    ASSERT_OK(batch.session(i).Append({7 * i + 3, 11 * i, 60 + i}));
    ASSERT_OK_AND_ASSIGN(TokenStream stream, TokenStream::Create(batch.session(i), {}));
    streams.push_back(std::move(stream));
  }
  const Batch moved = std::move(batch);
  for (int step = 0; step < 8; ++step) {
    for (TokenStream& stream : streams) ASSERT_OK(stream.Next().status());
    ASSERT_OK(const_cast<Batch&>(moved).Step());
  }
  for (int32_t i = 0; i < kSessions; ++i) {
    ASSERT_OK_AND_ASSIGN(Session session, Session::Create(*model_));
    ASSERT_OK(session.Append({7 * i + 3, 11 * i, 60 + i}));
    ASSERT_OK_AND_ASSIGN(const Generation generation, session.Generate({.max_tokens = 8}));
    EXPECT_EQ(streams[static_cast<size_t>(i)].result().tokens, generation.tokens) << i;
  }
}

TEST_P(BatchTest, StepsDoNotChangeOtherSessions) {
  ASSERT_OK_AND_ASSIGN(Batch batch, Batch::Create(*model_));
  ASSERT_OK(batch.Step());  // nothing to evaluate
  std::vector<int32_t> full(kContext, 5);
  full[3] = 8;
  ASSERT_OK(batch.session(0).Append(full));
  ASSERT_OK(batch.session(1).Append({4, 5}));
  ASSERT_OK(batch.session(2).Append({9}));
  const std::vector<float> before = LogitsOf(batch.session(1));
  ASSERT_OK_AND_ASSIGN(TokenStream stream, TokenStream::Create(batch.session(2), {}));
  for (int step = 0; step < 3; ++step) {
    ASSERT_OK(stream.Next().status());
    ASSERT_OK(batch.Step());
  }
  EXPECT_EQ(LogitsOf(batch.session(1)), before);
  ASSERT_OK(batch.session(1).Append({6}));
  ExpectLogitsOfTokens(batch.session(1));
  ASSERT_OK(batch.session(0).Cut(kContext - 1));
  ExpectLogitsOfTokens(batch.session(0));
  ExpectLogitsOfTokens(batch.session(2));
}

TEST_P(BatchTest, FailedStepsChangeNothing) {
  ASSERT_OK_AND_ASSIGN(Batch batch, Batch::Create(*model_));
  ASSERT_OK(batch.session(0).Append({4, 5}));
  ASSERT_OK_AND_ASSIGN(TokenStream stream, TokenStream::Create(batch.session(0), {}));
  ASSERT_OK(stream.Next().status());
  const std::atomic<bool> cancelled = true;
  ExecuteOptions cancel;
  cancel.cancel = &cancelled;
  EXPECT_THAT(batch.Step(cancel), StatusIs(absl::StatusCode::kCancelled));
  for (uint64_t instructions = 1; instructions < 60; instructions += 7) {
    ExecuteOptions bounded;
    bounded.executed_instructions = instructions;
    EXPECT_THAT(batch.Step(bounded), StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(batch.session(0).position(), 3);
  ASSERT_OK(batch.Step());
  ExpectLogitsOfTokens(batch.session(0));
}

INSTANTIATE_TEST_SUITE_P(Models, BatchTest, ::testing::Values("llama", "qwen3", "gemma3"),
                         [](const auto& info) { return info.param; });

TEST(BatchErrorTest, RequiresADecodeBatchMethod) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"forward", kDynamicModel}}));
  ASSERT_OK_AND_ASSIGN(const TextModel model,
                       TextModel::Create(*test.program, test.kernels, test.backends,
                                         {.context_length = kTestContext}));
  EXPECT_EQ(model.batch(), nullptr);
  EXPECT_THAT(Batch::Create(model),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("expected a method 'decode_batch' in the program")));
}

TEST(BatchErrorTest, RejectsOtherSignaturesOfDecodeBatch) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test,
                       LowerZoo({{"forward", kDynamicModel}, {"decode_batch", kDynamicModel}}));
  EXPECT_THAT(TextModel::Create(*test.program, test.kernels, test.backends),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("method 'decode_batch': expected token ids i64 or i32 [B,1]")));
}

}  // namespace
}  // namespace belay::llm
