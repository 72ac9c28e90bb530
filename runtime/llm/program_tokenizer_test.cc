#include "runtime/llm/program_tokenizer.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "exir/backend/named_data_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/llm/llm_testing.h"
#include "runtime/llm/tokenizer/write_tokenizer_tables.h"

namespace belay::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<TestProgram> WithData(std::string_view key, std::string_view json) {
  exir::NamedDataStore store;
  std::vector<std::byte> bytes(json.size());
  std::memcpy(bytes.data(), json.data(), json.size());
  EXPECT_OK(store.Add(key, exir::Storage::Own(bytes)));
  exir::PipelineOptions options;
  options.emit.named_data = &store.output();
  return LowerZoo({{"forward", kStepModel}}, options);
}

constexpr std::string_view kJson =
    R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})";

TEST(ProgramTokenizerTest, ReadsTheTokenizer) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, WithData(kTokenizerKey, kJson));
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, ReadTokenizer(*test.program));
  EXPECT_THAT(*tokenizer.Encode("aab"), ElementsAre(0, 2));
}

TEST(ProgramTokenizerTest, ReadsTables) {
  ASSERT_OK_AND_ASSIGN(const std::string tables, WriteTokenizerTables(kJson));
  ASSERT_OK_AND_ASSIGN(const TestProgram test, WithData(kTokenizerTablesKey, tables));
  ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, ReadTokenizer(*test.program));
  EXPECT_THAT(*tokenizer.Encode("aab"), ElementsAre(0, 2));
  ASSERT_OK_AND_ASSIGN(const TestProgram other, WithData(kTokenizerTablesKey, kJson));
  EXPECT_THAT(ReadTokenizer(*other.program),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected tables")));
}

TEST(ProgramTokenizerTest, ReadsTheChatTemplate) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test,
                       WithData(kChatTemplateKey, R"({"chat_template": "{{ eos_token }}!",
                                                      "eos_token": "</s>"})"));
  ASSERT_OK_AND_ASSIGN(const ChatTemplate chat, ReadChatTemplate(*test.program));
  EXPECT_EQ(*chat.Render("[]"), "</s>!");
}

TEST(ProgramTokenizerTest, ReportsProgramsWithoutOne) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, LowerZoo({{"forward", kStepModel}}));
  EXPECT_THAT(ReadTokenizer(*test.program),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no tokenizer")));
  EXPECT_THAT(ReadChatTemplate(*test.program),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has no chat template")));
}

TEST(ProgramTokenizerTest, ChecksTheDigest) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, WithData(kTokenizerKey, kJson));
  ASSERT_OK_AND_ASSIGN(const auto blob, test.program->FindNamedData(kTokenizerKey));
  const absl::Span<const std::byte> file = test.program->bytes();
  auto copy = std::make_shared<exir::Storage>(exir::Storage::Own({file.begin(), file.end()}));
  auto* bytes = const_cast<std::byte*>(copy->bytes.data());
  bytes[blob.data() - file.data() + 2] ^= std::byte{1};
  const absl::StatusOr<Program> damaged = Program::OpenBytes(copy, copy->bytes, {});
  ASSERT_OK(damaged.status());
  EXPECT_THAT(ReadTokenizer(*damaged),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("digest differs")));
}

TEST(ProgramTokenizerTest, RejectsOtherContent) {
  ASSERT_OK_AND_ASSIGN(const TestProgram test, WithData(kTokenizerKey, "{}"));
  EXPECT_THAT(ReadTokenizer(*test.program), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::llm
