#include "runtime/llm/tokenizer/tokenizer_tables.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/bytes.h"
#include "runtime/core/random.h"
#include "runtime/core/testing.h"
#include "runtime/llm/tokenizer/tokenizer.h"
#include "runtime/llm/tokenizer/write_tokenizer_tables.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Id 2 has no token; the pair of ids 0 and 1 has two merges, the last one counts.
constexpr std::string_view kJson =
    R"({"added_tokens":[{"id":6,"content":"<s>","special":true}],"model":{"type":"BPE",)"
    R"("vocab":{"a":0,"b":1,"ab":3,"abab":4,"é":5},)"
    R"("merges":["a b",["ab","ab"],["a","b"]]},"version":"1.0"})";

// Tables as words, which are aligned.
std::vector<uint32_t> Words(std::string_view bytes) {
  std::vector<uint32_t> words(bytes.size() / 4 + 1);
  bytes.copy(reinterpret_cast<char*>(words.data()), bytes.size());
  return words;
}

std::string TablesOf(std::string_view json) {
  absl::StatusOr<std::string> tables = WriteTokenizerTables(json);
  EXPECT_OK(tables.status());
  return tables.ok() ? *std::move(tables) : "";
}

absl::Status StatusOf(std::string_view bytes, const TokenizerLimits& limits = {}) {
  const std::vector<uint32_t> words = Words(bytes);
  return Tokenizer::FromTables({reinterpret_cast<const std::byte*>(words.data()), bytes.size()},
                               limits)
      .status();
}

TEST(TokenizerTablesTest, EqualTheDocument) {
  const std::string tables = TablesOf(kJson);
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromTables(AsBytes(tables)));
  EXPECT_THAT(*tokenizer.Encode("ababab<s>é"), ElementsAre(4, 3, 6, 5));
  EXPECT_EQ(*tokenizer.Decode(std::vector<int32_t>{4, 2, 5}), "abab é");
  EXPECT_EQ(tokenizer.Token(2), std::nullopt);
  EXPECT_EQ(tokenizer.TokenId("abab"), 4);
  EXPECT_EQ(tokenizer.TokenId("ba"), std::nullopt);
  EXPECT_EQ(tokenizer.vocabulary_size(), 7);
  EXPECT_THAT(tables, HasSubstr(R"("vocab":{},"merges":[]})"));
  EXPECT_NE(tables.find(R"("version":"1.0")"), std::string::npos);
}

// The results of the `tokenizers` library for all models of testdata/.
TEST(TokenizerTablesTest, AgreeWithTheTokenizersLibrary) {
  int tested = 0, others = 0;
  for (const auto& entry : std::filesystem::directory_iterator("runtime/llm/tokenizer/testdata")) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const nlohmann::json content = nlohmann::json::parse(text.str());
    const absl::StatusOr<std::string> tables = WriteTokenizerTables(content["tokenizer"].dump());
    if (content["tokenizer"]["model"]["type"] != "BPE") {
      EXPECT_THAT(tables, StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("type BPE")));
      ++others;
      continue;
    }
    ASSERT_OK(tables.status());
    ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::FromTables(AsBytes(*tables)));
    for (const nlohmann::json& golden : content["cases"]) {
      const auto expected = golden[1].get<std::vector<int32_t>>();
      EXPECT_EQ(*tokenizer.Encode(golden[0].get<std::string>()), expected) << entry.path();
      EXPECT_EQ(*tokenizer.Decode(expected), golden[3].get<std::string>()) << entry.path();
    }
    ++tested;
  }
  EXPECT_GE(tested, 4);
  EXPECT_GE(others, 2);
}

TEST(TokenizerTablesTest, CopyMisalignedTables) {
  const std::string tables = TablesOf(kJson);
  std::vector<uint32_t> words = Words(absl::StrCat("x", tables));
  ASSERT_OK_AND_ASSIGN(
      const Tokenizer tokenizer,
      Tokenizer::FromTables({reinterpret_cast<const std::byte*>(words.data()) + 1, tables.size()}));
  std::fill(words.begin(), words.end(), 0u);
  EXPECT_THAT(*tokenizer.Encode("abab"), ElementsAre(4));
}

// Offsets in the tables of kJson.
constexpr size_t kTokens = 8 + sizeof(TokenizerTablesHeader), kTokenCount = 6;
constexpr size_t kSlots = kTokens + kTokenCount * sizeof(Vocabulary::Entry), kSlotCount = 16;
constexpr size_t kMerges = kSlots + kSlotCount * sizeof(Vocabulary::Slot), kMergeCount = 3;
constexpr size_t kMergeSlots = kMerges + kMergeCount * sizeof(MergeTable::Merge);
constexpr size_t kMergeSlotCount = 8;
constexpr size_t kBytes = kMergeSlots + kMergeSlotCount * sizeof(uint32_t);

TEST(TokenizerTablesTest, RejectViolatedRules) {
  const std::string tables = TablesOf(kJson);
  ASSERT_OK(StatusOf(tables));
  const std::string_view strings = std::string_view(tables).substr(kBytes, 9);
  ASSERT_EQ(strings, "abababab\xC3");  // and the second byte of é
  size_t slot = kSlots;                // of a token
  while (std::memcmp(&tables[slot + 4], "\xff\xff\xff\xff", 4) == 0) slot += 8;
  struct Case {
    size_t offset;
    uint32_t value;
    absl::StatusCode code;
    std::string_view message;
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  const auto loss = absl::StatusCode::kDataLoss;
  for (const Case& test : {
           Case{0, 0, loss, "expected tables of a tokenizer"},
           Case{8, 1u << 23, absl::StatusCode::kResourceExhausted, "expected at most"},
           Case{8, kTokenCount + 1, loss, "bytes of the tokenizer.json"},
           Case{8, 1000, loss, "bytes of tokens"},
           Case{12, 0xffffffff, loss, "bytes of token slots"},
           Case{16, 1u << 23, absl::StatusCode::kResourceExhausted, "expected at most"},
           Case{16, 1u << 20, loss, "bytes of merges"},
           Case{20, 0xffffffff, loss, "bytes of merge slots"},
           Case{24, 0xffffffff, loss, "strings of tokens"},
           Case{28, 0xffffffff, loss, "the tokenizer.json"},
           Case{28, 1, loss, "expected no more bytes"},
           Case{kTokens, 0xfffffff0, invalid, "token 0: expected bytes below 10"},
           Case{kTokens + 4, 0xfffffffe, invalid, "token 0: expected bytes below 10"},
           Case{kTokens + 4, 11, invalid, "token 0: expected bytes below 10, got 0 to 11"},
           Case{kTokens + 4, 9, invalid, "token 0: expected whole characters"},
           Case{kTokens, 9, invalid, "token 0: expected whole characters"},
           Case{kBytes, 0xff, invalid, "expected tokens in UTF-8"},
           Case{slot + 4, kTokenCount, invalid, "unknown token 6"},
           Case{slot + 4, 2, invalid, "unknown token 2"},
           Case{slot + 4, 0xfffffffe, invalid, "unknown token -2"},
           Case{kMerges, kTokenCount, invalid, "merge 0: expected tokens below 6, got 6, 1 and 3"},
           Case{kMerges + 16, 0xffffffff, invalid, "merge 1: expected tokens below 6"},
           Case{kMerges + 32, 0x80000000, invalid, "merge 2: expected tokens below 6"},
           Case{kMergeSlots, kMergeCount, invalid, "slots of ranks below 3, got 3"},
       }) {
    std::string changed = tables;
    std::memcpy(&changed[test.offset], &test.value, 4);
    EXPECT_THAT(StatusOf(changed), StatusIs(test.code, HasSubstr(test.message)))
        << test.offset << " = " << test.value;
  }
  EXPECT_THAT(StatusOf(tables.substr(0, 20)), StatusIs(loss, HasSubstr("the counts")));
  EXPECT_THAT(StatusOf(tables + "x"), StatusIs(loss, HasSubstr("expected no more bytes")));
  EXPECT_THAT(StatusOf(""), StatusIs(loss));
  EXPECT_THAT(StatusOf(tables, {.vocabulary = 5}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("got 6 and 3")));
  EXPECT_THAT(StatusOf(tables.substr(0, tables.size() - 1) + "x"), StatusIs(invalid));
}

// Tables of the tokens "a" and "b", one merge, and these slots of merges.
std::string WithMergeSlots(const std::vector<uint32_t>& slots) {
  std::string tables =
      TablesOf(R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})");
  const size_t at = 32 + 3 * 8 + 16 * 8 + 12;
  const auto count = static_cast<uint32_t>(slots.size());
  uint32_t before;
  std::memcpy(&before, &tables[20], 4);
  std::memcpy(&tables[20], &count, 4);
  return tables.substr(0, at) +
         std::string(reinterpret_cast<const char*>(slots.data()), 4 * slots.size()) +
         tables.substr(at + 4 * before);
}

TEST(TokenizerTablesTest, BoundSearchesOfHashTables) {
  constexpr uint32_t kFree = MergeTable::kFree;
  EXPECT_OK(StatusOf(WithMergeSlots({kFree})));
  for (const size_t count : {0, 3}) {
    EXPECT_THAT(StatusOf(WithMergeSlots(std::vector<uint32_t>(count, kFree))),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("power of two")));
  }
  EXPECT_THAT(StatusOf(WithMergeSlots({0, 0})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a free slot of merges")));
  // A run around the end.
  std::vector<uint32_t> slots(4096, 0);
  for (size_t i = 1000; i < 4096 - 24; ++i) slots[i] = kFree;
  EXPECT_OK(StatusOf(WithMergeSlots(slots)));
  slots[1000] = 0;
  EXPECT_THAT(StatusOf(WithMergeSlots(slots)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at most 1024 used slots of merges in a row, got 1025")));
}

TEST(MergeTableTest, BoundsCollisions) {
  // Pairs of the first slot of 1,024.
  std::vector<std::pair<int32_t, int32_t>> pairs;
  for (int32_t left = 0; pairs.size() <= kLongestProbe; ++left) {
    MergeTable one(300);
    ASSERT_EQ(one.tables().slots.size(), 1024u);
    ASSERT_OK(one.Add({left, 7, 0}));
    if (one.tables().slots[0] != MergeTable::kFree) pairs.emplace_back(left, 7);
  }
  MergeTable table(300);
  for (size_t i = 0; i < kLongestProbe; ++i) {
    ASSERT_OK(table.Add({pairs[i].first, pairs[i].second, 0}));
  }
  EXPECT_EQ(table.Find(pairs.back().first, 7), std::nullopt);
  EXPECT_EQ(table.Find(pairs[200].first, 7), 200u);
  EXPECT_THAT(table.Add({pairs.back().first, 7, 0}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("collisions")));
}

TEST(VocabularyTest, BoundsCollisions) {
  std::vector<std::string> tokens;
  for (int i = 0; tokens.size() <= kLongestProbe; ++i) {
    Vocabulary one;
    const std::string token = absl::StrCat("token", i);
    ASSERT_OK(one.Add(token, 0, 1));
    for (const Vocabulary::Slot& slot : one.tables().slots) {
      if (slot.id == 0 && slot.hash % 1024 == 5) tokens.push_back(token);
    }
  }
  Vocabulary vocabulary;
  for (size_t i = 0; i < kLongestProbe; ++i) {
    ASSERT_OK(vocabulary.Add(tokens[i], static_cast<int64_t>(i), 1000));
  }
  EXPECT_EQ(vocabulary.Find(tokens[100]), 100);
  EXPECT_EQ(vocabulary.Find(tokens.back()), std::nullopt);
  EXPECT_THAT(vocabulary.Add(tokens.back(), 500, 1000),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("collisions")));
}

TEST(TokenizerTablesTest, DamagedTablesGiveErrorsOrTokenizers) {
  Random random(TestSeed());
  const std::string tables = TablesOf(kJson);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = tables;
    for (size_t n = random.Below(4); n < 4; ++n) {
      damaged[8 + random.Below(kBytes - 8)] = static_cast<char>(random.Next());
    }
    const std::vector<uint32_t> words = Words(damaged);
    const auto tokenizer =
        Tokenizer::FromTables({reinterpret_cast<const std::byte*>(words.data()), damaged.size()});
    if (!tokenizer.ok()) continue;
    const auto ids = tokenizer->Encode("aabab<s>é");
    if (ids.ok()) EXPECT_OK(tokenizer->Decode(*ids).status());
  }
}

}  // namespace
}  // namespace belay::llm
