#include "exir/gguf/tokenizer_json.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "exir/gguf/gguf_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/llm/chat/chat_template.h"
#include "runtime/llm/tokenizer/tokenizer.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::StatusOr<llm::Tokenizer> TokenizerOf(const GgufBytes& bytes) {
  ABSL_ASSIGN_OR_RETURN(const GgufFile file, bytes.Parse());
  ABSL_ASSIGN_OR_RETURN(const std::string json, TokenizerJson(file));
  return llm::Tokenizer::FromJson(json);
}
absl::Status Error(const GgufBytes& bytes) { return TokenizerOf(bytes).status(); }

// The ids of a text without special tokens.
std::vector<int32_t> Encode(const llm::Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.Encode(text, /*special_tokens=*/false);
  EXPECT_OK(ids);
  return ids.ok() ? *ids : std::vector<int32_t>();
}

// SentencePiece: <unk>, <s>, </s>, bytes for "\n" and "!", a user-defined token, and pieces.
GgufBytes SentencePiece() {
  GgufBytes bytes;
  bytes.Text("tokenizer.ggml.model", "llama")
      .Strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0x0A>", "<0x21>", "  ", "\u2581",
                                         "a", "b", "ab", "\u2581a", "ba", "\u2581ab"})
      .Floats("tokenizer.ggml.scores", {0, 0, 0, 0, 0, -1000, -9, -8, -7, -3, -2, -1, -4})
      .Ints("tokenizer.ggml.token_type", {2, 3, 3, 6, 6, 4, 1, 1, 1, 1, 1, 1, 1})
      .Int("tokenizer.ggml.bos_token_id", 1)
      .Int("tokenizer.ggml.eos_token_id", 2)
      .Int("tokenizer.ggml.unknown_token_id", 0);
  return bytes;
}

TEST(TokenizerJsonTest, MergesByTheScoreOfTheResult) {
  GgufBytes bytes = SentencePiece();
  bytes.Bool("tokenizer.ggml.add_space_prefix", false);
  ASSERT_OK_AND_ASSIGN(const llm::Tokenizer tokenizer, TokenizerOf(bytes));
  EXPECT_THAT(Encode(tokenizer, "ab"), ElementsAre(9));
  EXPECT_THAT(Encode(tokenizer, "aba"), ElementsAre(7, 11));  // "ba" before "ab"
  EXPECT_THAT(Encode(tokenizer, " ab"), ElementsAre(12));     // "\u2581a" + "b"
  EXPECT_THAT(Encode(tokenizer, "a!\n"), ElementsAre(7, 4, 3));
  EXPECT_THAT(Encode(tokenizer, "a  b"), ElementsAre(7, 5, 8));  // the user-defined token
  EXPECT_THAT(Encode(tokenizer, "a</s>"), ElementsAre(7, 2));
  const auto with_bos = tokenizer.Encode("a");
  ASSERT_OK(with_bos);
  EXPECT_THAT(*with_bos, ElementsAre(1, 7));
  const auto text = tokenizer.Decode(std::vector<int32_t>{1, 10, 8, 3, 5, 4});
  ASSERT_OK(text);
  EXPECT_EQ(*text, " ab\n  !");
}

TEST(TokenizerJsonTest, AddsASpaceBeforeTheText) {
  ASSERT_OK_AND_ASSIGN(const llm::Tokenizer tokenizer, TokenizerOf(SentencePiece()));
  EXPECT_THAT(Encode(tokenizer, "ab"), ElementsAre(12));
  const auto text = tokenizer.Decode(std::vector<int32_t>{10, 8});
  ASSERT_OK(text);
  EXPECT_EQ(*text, "ab");
}

TEST(TokenizerJsonTest, AddsTheTokensOfTheKeys) {
  GgufBytes bytes = SentencePiece();
  bytes.Bool("tokenizer.ggml.add_bos_token", false).Bool("tokenizer.ggml.add_eos_token", true);
  ASSERT_OK_AND_ASSIGN(const llm::Tokenizer tokenizer, TokenizerOf(bytes));
  const auto ids = tokenizer.Encode("a");
  ASSERT_OK(ids);
  EXPECT_THAT(*ids, ElementsAre(10, 2));
}

// BPE of bytes.
GgufBytes BytePairs(std::string_view pre) {
  GgufBytes bytes;
  bytes.Text("tokenizer.ggml.model", "gpt2")
      .Text("tokenizer.ggml.pre", pre)
      .Strings("tokenizer.ggml.tokens",
               {"<|end|>", "1", "2", "a", "b", "\u0120", "ab", "12", "\u0120a", "122"})
      .Ints("tokenizer.ggml.token_type", {3, 1, 1, 1, 1, 1, 1, 1, 1, 1})
      .Strings("tokenizer.ggml.merges", {"a b", "1 2", "\u0120 a", "12 2"})
      .Int("tokenizer.ggml.bos_token_id", 0);
  return bytes;
}

TEST(TokenizerJsonTest, SplitsByTheNamedExpression) {
  const auto encode = [](std::string_view pre, std::string_view text) {
    const auto tokenizer = TokenizerOf(BytePairs(pre));
    EXPECT_OK(tokenizer);
    return tokenizer.ok() ? Encode(*tokenizer, text) : std::vector<int32_t>();
  };
  EXPECT_THAT(encode("gpt-2", "12222 ab"), ElementsAre(9, 2, 2, 5, 6));
  EXPECT_THAT(encode("default", "12"), ElementsAre(7));
  EXPECT_THAT(encode("llama-bpe", "22122"), ElementsAre(2, 2, 1, 2, 2));  // at most 3 digits
  EXPECT_THAT(encode("qwen2", "122 ab<|end|>"), ElementsAre(1, 2, 2, 5, 6, 0));
  EXPECT_THAT(encode("smollm", "122"), ElementsAre(1, 2, 2));
}

TEST(TokenizerJsonTest, LlamaBpeAddsTheFirstToken) {
  const auto encode = [](GgufBytes bytes) -> absl::StatusOr<std::vector<int32_t>> {
    ABSL_ASSIGN_OR_RETURN(const llm::Tokenizer tokenizer, TokenizerOf(bytes));
    return tokenizer.Encode("a");
  };
  EXPECT_EQ(*encode(BytePairs("llama-bpe")), (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(*encode(BytePairs("qwen2")), (std::vector<int32_t>{3}));
  GgufBytes without = BytePairs("llama-bpe");
  without.Bool("tokenizer.ggml.add_bos_token", false);
  EXPECT_EQ(*encode(without), (std::vector<int32_t>{3}));
}

TEST(TokenizerJsonTest, NamesUnsupportedTokenizers) {
  EXPECT_THAT(Error(GgufBytes()), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Error(GgufBytes().Text("tokenizer.ggml.model", "t5")),
              StatusIs(absl::StatusCode::kUnimplemented,
                       "key 'tokenizer.ggml.model': expected 'llama' or 'gpt2', got 't5'"));
  EXPECT_THAT(Error(BytePairs("tekken")),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("key 'tokenizer.ggml.pre': 'tekken' is not supported; supported: "
                                 "default, gpt-2")));
}

// CVE-2025-49847, CVE-2025-52566: lengths and counts of tokens.
TEST(TokenizerJsonTest, RejectsInvalidVocabularies) {
  const auto llama = [](const std::vector<std::string>& tokens, const std::vector<float>& scores,
                        const std::vector<int32_t>& types) {
    GgufBytes bytes;
    bytes.Text("tokenizer.ggml.model", "llama").Strings("tokenizer.ggml.tokens", tokens);
    return Error(
        bytes.Floats("tokenizer.ggml.scores", scores).Ints("tokenizer.ggml.token_type", types));
  };
  EXPECT_OK(llama({"a", "b"}, {0, 0}, {1, 1}));
  EXPECT_THAT(llama({"a", "a"}, {0, 0}, {1, 1}),
              StatusIs(kInvalid, HasSubstr("tokens 0 and 1 are equal")));
  EXPECT_THAT(llama({"a", "\xff"}, {0, 0}, {1, 1}),
              StatusIs(kInvalid, HasSubstr("token 1 is not UTF-8")));
  EXPECT_THAT(llama({"a", "b"}, {0}, {1, 1}),
              StatusIs(kInvalid, HasSubstr("scores': expected 2 elements, got 1")));
  EXPECT_THAT(llama({"a", "b"}, {0, 0}, {1}),
              StatusIs(kInvalid, HasSubstr("token_type': expected 2 elements, got 1")));
  EXPECT_THAT(llama({"a", "b"}, {0, std::numeric_limits<float>::quiet_NaN()}, {1, 1}),
              StatusIs(kInvalid, HasSubstr("element 1 is not a number")));
  EXPECT_THAT(llama({"a", std::string(300, 'b')}, {0, 0}, {1, 1}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("token 1 has 300")));
  GgufBytes id = SentencePiece();
  id.Int("tokenizer.ggml.padding_token_id", 1);
  EXPECT_OK(Error(id));
  GgufBytes bos;
  bos.Text("tokenizer.ggml.model", "llama")
      .Strings("tokenizer.ggml.tokens", {"a"})
      .Floats("tokenizer.ggml.scores", {0})
      .Int("tokenizer.ggml.bos_token_id", 1);
  EXPECT_THAT(Error(bos), StatusIs(kInvalid, HasSubstr("expected an id below 1, got 1")));
}

TEST(TokenizerJsonTest, RejectsInvalidMerges) {
  for (const std::string& merge : {std::string("ab"), std::string(" ab"), std::string("ab "),
                                   std::string(), std::string("\xff b")}) {
    GgufBytes bytes;
    bytes.Text("tokenizer.ggml.model", "gpt2")
        .Strings("tokenizer.ggml.tokens", {"a", "b", "ab"})
        .Strings("tokenizer.ggml.merges", {merge});
    EXPECT_THAT(Error(bytes),
                StatusIs(kInvalid, HasSubstr("expected two tokens in UTF-8 in element 0")));
  }
}

TEST(ChatTemplateJsonTest, HasTheTemplateAndTheSpecialTokens) {
  GgufBytes bytes = SentencePiece();
  bytes.Text("tokenizer.chat_template",
             "{{ bos_token }}{{ messages[0]['content'] }}{{ eos_token }}");
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  ASSERT_OK_AND_ASSIGN(const std::string json, ChatTemplateJson(file));
  ASSERT_OK_AND_ASSIGN(const llm::ChatTemplate chat, llm::ChatTemplate::FromJson(json));
  const auto text = chat.Render(R"([{"role": "user", "content": "Hi"}])");
  ASSERT_OK(text);
  EXPECT_EQ(*text, "<s>Hi</s>");
}

TEST(ChatTemplateJsonTest, RejectsInvalidTemplates) {
  ASSERT_OK_AND_ASSIGN(const GgufFile none, SentencePiece().Parse());
  EXPECT_THAT(ChatTemplateJson(none), StatusIs(absl::StatusCode::kNotFound));
  GgufBytes bytes = SentencePiece();
  bytes.Text("tokenizer.chat_template", "\xff");
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  EXPECT_THAT(ChatTemplateJson(file), StatusIs(kInvalid, HasSubstr("expected UTF-8")));
}

}  // namespace
}  // namespace belay::exir
