#include "runtime/llm/conversation.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/llm/llm_testing.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Words "w0 " to "w95 "; "w95 " ends a turn.
Tokenizer WordTokenizer() {
  std::string vocabulary;
  for (int t = 0; t < kTestVocabulary; ++t) {
    absl::StrAppend(&vocabulary, t == 0 ? "" : ",", "\"w", t, " \":", t);
  }
  auto tokenizer = Tokenizer::FromJson(
      absl::StrCat(R"({"model":{"type":"WordLevel","vocab":{)", vocabulary,
                   R"(}},"pre_tokenizer":{"type":"Split","pattern":{"String":" "},)",
                   R"("behavior":"MergedWithPrevious"},"decoder":{"type":"Fuse"},)",
                   R"("added_tokens":[{"id":96,"content":"<|im_end|>","special":true},)",
                   R"({"id":97,"content":"<eos>","special":false}]})"));
  EXPECT_OK(tokenizer.status());
  return *std::move(tokenizer);
}

ChatTemplate Template() {
  auto chat = ChatTemplate::FromJson(
      R"({"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}", "eos_token": "w95 "})");
  EXPECT_OK(chat.status());
  return *std::move(chat);
}

class ConversationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(test_, LowerZoo({{"prefill", kDynamicModel}, {"decode", kStepModel}}));
    ASSERT_OK_AND_ASSIGN(auto model,
                         TextModel::Create(*test_.program, test_.kernels, test_.backends,
                                           {.context_length = kTestContext}));
    model_ = std::make_unique<TextModel>(std::move(model));
  }
  absl::StatusOr<int64_t> Append(Session& session, std::string_view messages) {
    return AppendMessages(session, tokenizer_, chat_, messages);
  }

  TestProgram test_;
  std::unique_ptr<TextModel> model_;
  Tokenizer tokenizer_ = WordTokenizer();
  ChatTemplate chat_ = Template();
};

TEST_F(ConversationTest, EvaluatesTheTokensAfterTheCommonPrefix) {
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(*model_));
  EXPECT_EQ(*Append(session, R"([{"content": "w3 w4 "}])"), 2);
  EXPECT_EQ(*Append(session, R"([{"content": "w3 w4 "}, {"content": "w5 "}])"), 1);
  EXPECT_THAT(session.tokens(), ElementsAre(3, 4, 5));
  EXPECT_EQ(*Append(session, R"([{"content": "w3 w7 "}])"), 1);
  EXPECT_THAT(session.tokens(), ElementsAre(3, 7));
  EXPECT_EQ(*Append(session, R"([{"content": "w3 w7 "}])"), 0);
  ASSERT_OK_AND_ASSIGN(Session fresh, Session::Create(*model_));
  ASSERT_OK(fresh.Append({3, 7}));
  EXPECT_EQ(session.Generate({.max_tokens = 3})->tokens, fresh.Generate({.max_tokens = 3})->tokens);
}

TEST_F(ConversationTest, RejectsMessagesWithoutTokens) {
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(*model_));
  EXPECT_THAT(Append(session, "[]"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least one token")));
}

TEST_F(ConversationTest, ErrorsBeforeEvaluationKeepTheSession) {
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(*model_));
  ASSERT_OK(session.Append({1, 2}));
  std::string many;
  for (int i = 0; i <= kTestContext; ++i) many += "w3 ";
  EXPECT_THAT(Append(session, absl::StrCat(R"([{"content": ")", many, R"("}])")),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("at most 16 tokens")));
  EXPECT_THAT(Append(session, "{}"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(session.tokens(), ElementsAre(1, 2));
}

TEST_F(ConversationTest, EndTokensAreTheEosTokenAndKnownSpecialTokens) {
  EXPECT_THAT(EndTokens(tokenizer_, &chat_), ElementsAre(95, 96));
  EXPECT_THAT(EndTokens(tokenizer_), ElementsAre(96));
}

}  // namespace
}  // namespace belay::llm
