#include "runtime/llm/tokenizer/tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/llm/tokenizer/text_stream.h"

namespace belay::llm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Files of make_golden.py.
std::vector<fs::path> Files() {
  const char* directory = std::getenv("BELAY_TOKENIZER_CASES");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(
           directory == nullptr ? "runtime/llm/tokenizer/testdata" : directory)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

json ReadFile(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return json::parse(content.str());
}

TEST(TokenizerTest, AgreesWithTheTokenizersLibrary) {
  const std::vector<fs::path> files = Files();
  ASSERT_GE(files.size(), 10u);
  for (const fs::path& path : files) {
    const json content = ReadFile(path);
    ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer,
                         Tokenizer::FromJson(content["tokenizer"].dump()));
    int differences = 0;
    for (const json& golden : content["cases"]) {
      SCOPED_TRACE(absl::StrCat(path.filename().string(), ": ", golden[0].dump()));
      const auto text = golden[0].get<std::string>();
      ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, tokenizer.Encode(text));
      ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> plain, tokenizer.Encode(text, false));
      ASSERT_OK_AND_ASSIGN(const std::string decoded, tokenizer.Decode(ids));
      ASSERT_OK_AND_ASSIGN(const std::string all, tokenizer.Decode(ids, true));
      // Decoding is compared for the library's ids.
      const auto expected = golden[1].get<std::vector<int32_t>>();
      ASSERT_OK_AND_ASSIGN(const std::string text_of_expected, tokenizer.Decode(expected));
      EXPECT_EQ(ids, expected);
      EXPECT_EQ(plain, golden[2].get<std::vector<int32_t>>());
      EXPECT_EQ(text_of_expected, golden[3].get<std::string>());
      EXPECT_EQ(all, golden[4].get<std::string>());
      if (ids != expected || text_of_expected != golden[3].get<std::string>()) ++differences;
      if (differences > 5) break;
    }
    std::cout << path.filename().string() << ": " << content["cases"].size() << " strings, "
              << differences << " differ\n";
  }
}

TEST(TokenizerTest, StreamGivesTheTextOfAllTokens) {
  for (const fs::path& path : Files()) {
    const json content = ReadFile(path);
    ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer,
                         Tokenizer::FromJson(content["tokenizer"].dump()));
    for (const json& golden : content["cases"]) {
      const auto ids = golden[1].get<std::vector<int32_t>>();
      TextStream stream(&tokenizer);
      std::string text;
      for (int32_t id : ids) {
        ASSERT_OK_AND_ASSIGN(const std::string added, stream.Push(id));
        text += added;
      }
      ASSERT_OK_AND_ASSIGN(const std::string rest, stream.Finish());
      EXPECT_EQ(text + rest, golden[3].get<std::string>()) << path << " " << golden[0];
    }
  }
}

// A tokenizer with the given fields added to a small model.
std::string Json(
    const std::string& fields = "",
    const std::string& model = R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})") {
  return absl::StrCat(R"({"version":"1.0",)", fields, fields.empty() ? "" : ",", R"("model":)",
                      model, "}");
}
absl::Status StatusOf(const std::string& text) { return Tokenizer::FromJson(text).status(); }

TEST(TokenizerTest, FindsTokensByIdAndName) {
  ASSERT_OK_AND_ASSIGN(
      const Tokenizer tokenizer,
      Tokenizer::FromJson(Json(R"("added_tokens":[{"id":7,"content":"<s>","special":true}])")));
  EXPECT_EQ(tokenizer.vocabulary_size(), 8);
  EXPECT_EQ(tokenizer.TokenId("ab"), 2);
  EXPECT_EQ(tokenizer.TokenId("<s>"), 7);
  EXPECT_EQ(tokenizer.TokenId("c"), std::nullopt);
  EXPECT_EQ(tokenizer.Token(1), "b");
  EXPECT_EQ(tokenizer.Token(7), "<s>");
  EXPECT_EQ(tokenizer.Token(5), std::nullopt);
  EXPECT_EQ(tokenizer.Token(-1), std::nullopt);
  EXPECT_TRUE(tokenizer.IsSpecial(7));
  EXPECT_FALSE(tokenizer.IsSpecial(0));
  EXPECT_THAT(*tokenizer.Encode("aba<s>b"), ElementsAre(2, 0, 7, 1));
  EXPECT_EQ(*tokenizer.Decode({5, -1, 2, 7, 1}), "ab b");
}

TEST(TokenizerTest, NamesUnsupportedTypes) {
  const auto names = [](std::string_view what) {
    return StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(std::string(what)));
  };
  EXPECT_THAT(StatusOf(Json(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":""})")),
              names("tokenizer.json: normalizer: 'Precompiled' is not supported"));
  EXPECT_THAT(StatusOf(Json(R"("pre_tokenizer":{"type":"UnicodeScripts"})")),
              names("pre_tokenizer: 'UnicodeScripts' is not supported"));
  EXPECT_THAT(StatusOf(Json(R"("decoder":{"type":"CTC"})")), names("decoder: 'CTC'"));
  EXPECT_THAT(StatusOf(Json(R"("post_processor":{"type":"X"})")), names("post_processor: 'X'"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"Fish"})")), names("model: 'Fish'"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":{},"merges":[],"dropout":0.1})")),
              names("dropout"));
}

TEST(TokenizerTest, RejectsFieldsOfWrongTypesWithTheirPath) {
  const auto says = [](std::string_view what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::string(what)));
  };
  EXPECT_THAT(StatusOf(""), says("tokenizer.json: "));
  EXPECT_THAT(StatusOf("[]"), says("model.type: expected BPE, Unigram"));
  EXPECT_THAT(StatusOf("{"), says("tokenizer.json: "));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":[],"merges":[]})")),
              says("model.vocab: expected an object"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":{"a":"x"},"merges":[]})")),
              says("model.vocab: expected an integer as the id of 'a'"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":{"a":0,"b":0},"merges":[]})")),
              says("id 0 is that of 'a' and of 'b'"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":{"a":-1},"merges":[]})")),
              says("expected an id of at least 0"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":{"a":0},"merges":["a b"]})")),
              says("model.merges: [0]: expected tokens of the vocabulary, got 'a', 'b'"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":{"a":0},"merges":["a b c"]})")),
              says("model.merges: [0]: expected a pair of tokens"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"BPE","vocab":{},"merges":[],"unk_token":"x"})")),
              says("model.unk_token: expected a token of the vocabulary, got 'x'"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"Unigram","vocab":[["a"]]})")),
              says("model.vocab: [0]: expected a token and a score"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"Unigram","vocab":[["a",0]],"unk_id":1})")),
              says("model.unk_id: expected an id in [0, 1), got 1"));
  EXPECT_THAT(StatusOf(Json("", R"({"type":"WordPiece","vocab":{}})")),
              says("model.unk_token: expected a token"));
  EXPECT_THAT(
      StatusOf(Json(
          "",
          R"({"type":"WordPiece","vocab":{"u":0},"unk_token":"u","max_input_chars_per_word":0})")),
      says("max_input_chars_per_word"));
  EXPECT_THAT(
      StatusOf(Json(R"("normalizer":{"type":"Replace","pattern":{"Regex":"("},"content":""})")),
      says("normalizer.pattern.Regex: expected a regular expression: "));
  EXPECT_THAT(StatusOf(Json(R"("normalizer":{"type":"Replace","pattern":{},"content":""})")),
              says("normalizer.pattern: expected a field 'String' or 'Regex'"));
  EXPECT_THAT(
      StatusOf(Json(R"("pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"x"})")),
      says("pre_tokenizer.behavior: expected Removed"));
  EXPECT_THAT(StatusOf(Json(R"("pre_tokenizer":{"type":"Metaspace","prepend_scheme":"x"})")),
              says("prepend_scheme: expected 'always', 'first' or 'never'"));
  EXPECT_THAT(StatusOf(Json(R"("added_tokens":[{"id":0,"content":""}])")),
              says("added_tokens[0].content: expected a string that is not empty"));
  EXPECT_THAT(StatusOf(Json(R"("added_tokens":[{"id":0,"content":"a"},{"id":0,"content":"b"}])")),
              says("added_tokens[1].id: expected ids that differ, got 0 twice"));
  EXPECT_THAT(StatusOf(Json(R"("post_processor":{"type":"TemplateProcessing","single":[]})")),
              says("post_processor.single: expected one sequence A"));
  EXPECT_THAT(StatusOf(Json(R"("post_processor":{"type":"BertProcessing","cls":["a"],"sep":[]})")),
              says("post_processor.cls: expected a token and its id"));
}

TEST(TokenizerTest, ReadsManyTokensAndMerges) {
  // Tokens of two bytes of an alphabet, whose merges are in descending order.
  constexpr int kLetters = 64;
  const auto letter = [](int i) {
    return absl::StrCat("\\u", absl::Hex(0x400 + i, absl::kZeroPad4));
  };
  std::string vocabulary, merges;
  for (int i = 0; i < kLetters; ++i) {
    absl::StrAppend(&vocabulary, i == 0 ? "" : ",", "\"", letter(i), "\":", i);
  }
  for (int i = 0; i < kLetters * kLetters; ++i) {
    const std::string a = letter(i / kLetters), b = letter(i % kLetters);
    absl::StrAppend(&vocabulary, ",\"", a, b, "\":", 2 * i + kLetters);  // ids with gaps
    merges = absl::StrCat("[\"", a, "\",\"", b, "\"]", i == 0 ? "" : ",", merges);
  }
  const auto model = [&](const std::string& more) {
    return Json("", absl::StrCat(R"({"type":"BPE","vocab":{)", vocabulary, R"(},"merges":[)",
                                 merges, more, "]}"));
  };
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(model("")));
  // The pair of larger letters has the lower rank.
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, tokenizer.Encode("\u0401\u0402\u0403"));
  EXPECT_THAT(ids, ElementsAre(1, 2 * (2 * kLetters + 3) + kLetters));
  for (int i = 0; i < kLetters * kLetters; ++i) {
    const int64_t id = 2 * i + kLetters;
    ASSERT_TRUE(tokenizer.Token(id).has_value());
    EXPECT_EQ(tokenizer.TokenId(*tokenizer.Token(id)), id);
    EXPECT_EQ(tokenizer.Token(id + 1), std::nullopt);
  }
  EXPECT_THAT(StatusOf(model(R"(,["\u0401","\u0402"],["x","y"])")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.merges: [4097]: expected tokens of the vocabulary")));
}

TEST(TokenizerTest, TheLastOfEqualMergesDecides) {
  ASSERT_OK_AND_ASSIGN(
      const Tokenizer tokenizer,
      Tokenizer::FromJson(Json(
          "",
          R"({"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4},"merges":["a b","b c","a b"]})")));
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, tokenizer.Encode("abc"));
  EXPECT_THAT(ids, ElementsAre(0, 4));
}

TEST(TokenizerTest, LimitsSizes) {
  const auto exhausts = StatusIs(absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Tokenizer::FromJson(Json(), {.json_bytes = 10}), exhausts);
  EXPECT_THAT(Tokenizer::FromJson(Json(), {.vocabulary = 2}), exhausts);
  EXPECT_THAT(
      Tokenizer::FromJson(Json("", R"({"type":"BPE","vocab":{"a":4000000000},"merges":[]})")),
      exhausts);
  EXPECT_THAT(Tokenizer::FromJson(Json(R"("added_tokens":[{"id":99999999,"content":"x"}])")),
              exhausts);
  ASSERT_OK_AND_ASSIGN(const Tokenizer small, Tokenizer::FromJson(Json(), {.text_bytes = 3}));
  EXPECT_OK(small.Encode("aaa"));
  EXPECT_THAT(small.Encode("aaaa"), exhausts);
  std::string nested = R"({"type":"NFC"})";
  for (int i = 0; i < 20; ++i) {
    nested = absl::StrCat(R"({"type":"Sequence","normalizers":[)", nested, "]}");
  }
  EXPECT_THAT(StatusOf(Json(absl::StrCat("\"normalizer\":", nested))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fewer nested")));
}

TEST(TokenizerTest, BoundsBacktrackingOfRegularExpressions) {
  ASSERT_OK_AND_ASSIGN(
      const Tokenizer tokenizer,
      Tokenizer::FromJson(Json(
          R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"(x+x+)+[yz]"},"behavior":"Isolated"})")));
  EXPECT_THAT(tokenizer.Encode(std::string(2000, 'x')),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("regular expression")));
}

TEST(TokenizerTest, BoundsGrowthByNormalizers) {
  std::string steps;
  for (int i = 0; i < 12; ++i) {
    steps += std::string(i == 0 ? "" : ",") +
             R"({"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaa"})";
  }
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer,
                       Tokenizer::FromJson(Json(absl::StrCat(
                           R"("normalizer":{"type":"Sequence","normalizers":[)", steps, "]}"))));
  EXPECT_THAT(tokenizer.Encode("a"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the normalizers expand")));
}

TEST(TokenizerTest, RejectsTextThatIsNotUtf8) {
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromJson(Json()));
  EXPECT_THAT(tokenizer.Encode("a\xff"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
}

TEST(TokenizerTest, MergesLongPiecesInOrderOfRank) {
  ASSERT_OK_AND_ASSIGN(
      const Tokenizer tokenizer,
      Tokenizer::FromJson(Json(
          "", R"({"type":"BPE","vocab":{"a":0,"aa":1,"aaaa":2},"merges":["a a",["aa","aa"]]})")));
  ASSERT_OK_AND_ASSIGN(const std::vector<int32_t> ids, tokenizer.Encode(std::string(100003, 'a')));
  EXPECT_EQ(ids.size(), 25002u);
  EXPECT_EQ(ids[ids.size() - 2], 1);
  EXPECT_EQ(ids.back(), 0);
}

TEST(TokenizerTest, DamagedFilesGiveErrorsOrTokenizers) {
  Random random(TestSeed());
  const std::string golden = ReadFile(Files()[0])["tokenizer"].dump();
  for (int i = 0; i < 200; ++i) {
    std::string damaged = golden;
    for (size_t n = random.Below(4); n < 4; ++n) {
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Next());
    }
    const absl::StatusOr<Tokenizer> tokenizer = Tokenizer::FromJson(damaged);
    if (!tokenizer.ok()) continue;
    const auto ids = tokenizer->Encode("Hello, world");
    if (ids.ok()) EXPECT_OK(tokenizer->Decode(*ids).status());
  }
}

}  // namespace
}  // namespace belay::llm
