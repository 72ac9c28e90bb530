#include "exir/gguf/gguf_file.h"

#include <limits>
#include <string>
#include <vector>

#include "exir/gguf/gguf_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MATCHER_P(IsOkAndHolds, matcher, "") {
  if (!arg.ok()) *result_listener << arg.status().ToString();
  return arg.ok() && ::testing::ExplainMatchResult(matcher, *arg, result_listener);
}

constexpr uint32_t kF32 = 0, kQ4_0 = 2, kQ2_K = 10;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kTruncated = absl::StatusCode::kDataLoss;
constexpr auto kUnsupported = absl::StatusCode::kUnimplemented;

// Expects that a file is rejected with this code and message.
void ExpectRejected(const GgufBytes& bytes, absl::StatusCode code, const std::string& message) {
  const absl::Status status = bytes.Parse().status();
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(status.message(), HasSubstr(message));
}

TEST(GgufFileTest, ReadsKeysOfAllTypes) {
  GgufBytes bytes;
  bytes.Key("u8", GgufType::kUint8, GgufBytes::Raw(uint8_t{200}))
      .Key("i8", GgufType::kInt8, GgufBytes::Raw(int8_t{-3}))
      .Key("u16", GgufType::kUint16, GgufBytes::Raw(uint16_t{60000}))
      .Key("i16", GgufType::kInt16, GgufBytes::Raw(int16_t{-300}))
      .Int("u32", 4000000000)
      .Key("i32", GgufType::kInt32, GgufBytes::Raw(int32_t{-7}))
      .Key("u64", GgufType::kUint64, GgufBytes::Raw(uint64_t{1} << 40))
      .Key("i64", GgufType::kInt64, GgufBytes::Raw(int64_t{-1} << 40))
      .Float("f32", 1.5f)
      .Key("f64", GgufType::kFloat64, GgufBytes::Raw(0.1))
      .Bool("yes", true)
      .Text("text", "a\xff")
      .Text("empty", "")
      .Strings("strings", {"", "b", "cc"})
      .Floats("floats", {1, 2})
      .Ints("ints", {-1, 5})
      .Ints("none", {});
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, int64_t>>{{"u8", 200},
                                                    {"i8", -3},
                                                    {"u16", 60000},
                                                    {"i16", -300},
                                                    {"u32", 4000000000},
                                                    {"i32", -7},
                                                    {"u64", int64_t{1} << 40},
                                                    {"i64", -(int64_t{1} << 40)}}) {
    EXPECT_THAT(file.Int(key), IsOkAndHolds(value)) << key;
  }
  EXPECT_THAT(file.Float("f32"), IsOkAndHolds(1.5));
  EXPECT_THAT(file.Float("f64"), IsOkAndHolds(0.1));
  EXPECT_THAT(file.Bool("yes"), IsOkAndHolds(true));
  EXPECT_THAT(file.String("text"), IsOkAndHolds("a\xff"));
  EXPECT_THAT(file.String("empty"), IsOkAndHolds(""));
  EXPECT_THAT(file.Strings("strings"), IsOkAndHolds(ElementsAre("", "b", "cc")));
  EXPECT_THAT(file.Floats("floats"), IsOkAndHolds(ElementsAre(1, 2)));
  EXPECT_THAT(file.Ints("ints"), IsOkAndHolds(ElementsAre(-1, 5)));
  EXPECT_THAT(file.Ints("none"), IsOkAndHolds(ElementsAre()));
  EXPECT_TRUE(file.Has("u8"));
  EXPECT_FALSE(file.Has("u7"));
}

TEST(GgufFileTest, GivesFallbacksOfMissingKeysOnly) {
  ASSERT_OK_AND_ASSIGN(const GgufFile file, GgufBytes().Text("text", "x").Parse());
  EXPECT_THAT(file.Int("n", 3), IsOkAndHolds(3));
  EXPECT_THAT(file.Float("n", 0.5), IsOkAndHolds(0.5));
  EXPECT_THAT(file.Bool("n", true), IsOkAndHolds(true));
  EXPECT_THAT(file.String("n", "y"), IsOkAndHolds("y"));
  EXPECT_THAT(file.Int("n"), StatusIs(kInvalid, "key 'n': expected an integer, got none"));
  EXPECT_THAT(file.Int("text", 3),
              StatusIs(kInvalid, "key 'text': expected an integer, got another type"));
  EXPECT_THAT(file.Float("text", 3), StatusIs(kInvalid));
  EXPECT_THAT(file.Bool("text", true), StatusIs(kInvalid));
  EXPECT_THAT(file.Strings("text"),
              StatusIs(kInvalid, "key 'text': expected an array of strings, got another type"));
}

// A reader that casts the elements to another type reads beyond them.
TEST(GgufFileTest, RejectsArraysOfOtherElements) {
  GgufBytes bytes;
  bytes.Array("scores", GgufType::kUint8, 4, "abcd").Floats("tokens", {1});
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  EXPECT_THAT(file.Floats("scores"), StatusIs(kInvalid));
  EXPECT_THAT(file.Strings("tokens"), StatusIs(kInvalid));
  EXPECT_THAT(file.Ints("tokens"), StatusIs(kInvalid));
  EXPECT_THAT(file.Float("tokens"), StatusIs(kInvalid));
}

TEST(GgufFileTest, RejectsIntegersBeyond64Bits) {
  GgufBytes bytes;
  bytes.Key("n", GgufType::kUint64, GgufBytes::Raw(UINT64_MAX))
      .Array("a", GgufType::kUint64, 1, GgufBytes::Raw(UINT64_MAX));
  ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
  EXPECT_THAT(file.Int("n"), StatusIs(kInvalid, "key 'n': it exceeds int64"));
  EXPECT_THAT(file.Ints("a"), StatusIs(kInvalid, "key 'a': element 0 exceeds int64"));
}

TEST(GgufFileTest, ReadsTensors) {
  GgufBytes bytes;
  bytes.Tensor("v", {3}, kF32, "aaaabbbbcccc").Tensor("q", {2, 32}, kQ4_0, std::string(36, 'q'));
  for (uint32_t version : {2, 3}) {
    bytes.version = version;
    ASSERT_OK_AND_ASSIGN(const GgufFile file, bytes.Parse());
    ASSERT_EQ(file.tensors().size(), 2);
    const GgufTensor* q = file.FindTensor("q");
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q->SizesText(), "[2, 32]");
    EXPECT_EQ(q->type->name, "Q4_0");
    EXPECT_EQ(q->bytes.size(), 36);
    EXPECT_EQ(static_cast<char>(q->bytes[0]), 'q');
    EXPECT_EQ(file.FindTensor("w"), nullptr);
  }
}

TEST(GgufFileTest, AlignsTheDataByTheKey) {
  GgufBytes bytes;
  bytes.Int("general.alignment", 1).Entry("v", {1}, kF32, 3);
  std::string file = bytes.Build() + "xxxabcd";
  ASSERT_OK_AND_ASSIGN(const GgufFile parsed, GgufBytes::ParseBytes(file));
  EXPECT_EQ(static_cast<char>(parsed.FindTensor("v")->bytes[0]), 'a');
}

TEST(GgufFileTest, RejectsOtherFilesAndVersions) {
  GgufBytes bytes;
  bytes.magic = "GGML";
  ExpectRejected(bytes, kInvalid, "not a GGUF file");
  EXPECT_THAT(GgufBytes::ParseBytes(""), StatusIs(kInvalid));
  EXPECT_THAT(GgufBytes::ParseBytes("GGUF"), StatusIs(kTruncated));
  bytes.magic = "GGUF";
  bytes.version = 1;
  ExpectRejected(bytes, kUnsupported, "expected GGUF version 2 or 3, got 1");
  bytes.version = 3u << 24;
  ExpectRejected(bytes, kUnsupported, "big-endian");
}

// CVE-2024-21836, CVE-2024-23605: counts times the size of an entry that overflow.
TEST(GgufFileTest, RejectsCountsBeyondTheFile) {
  for (uint64_t count : {uint64_t{2}, uint64_t{1} << 60, UINT64_MAX}) {
    GgufBytes keys;
    keys.Int("a", 1).key_count = count;
    EXPECT_THAT(keys.Parse(), StatusIs(kTruncated)) << count;
    GgufBytes tensors;
    tensors.Tensor("v", {1}, kF32, "abcd").tensor_count = count;
    EXPECT_FALSE(tensors.Parse().ok()) << count;
  }
}

// CVE-2024-23496: a string length whose sum with 1 wraps. CVE-2024-21825: counts of arrays.
TEST(GgufFileTest, RejectsLengthsBeyondTheFile) {
  for (uint64_t length : {uint64_t{100}, uint64_t{1} << 62, UINT64_MAX}) {
    ExpectRejected(GgufBytes().Key("s", GgufType::kString, GgufBytes::Raw(length)), kTruncated,
                   "key 's'");
    for (GgufType type : {GgufType::kUint8, GgufType::kFloat64, GgufType::kString}) {
      ExpectRejected(GgufBytes().Array("a", type, length, "ab"), kTruncated, "key 'a'");
    }
  }
  ExpectRejected(GgufBytes().Array("a", GgufType::kString, 1, GgufBytes::Raw(UINT64_MAX)),
                 kTruncated, "key 'a'");
}

TEST(GgufFileTest, RejectsEveryTruncation) {
  GgufBytes bytes;
  bytes.Text("text", "abc").Strings("strings", {"a", "b"}).Tensor("v", {3}, kF32, "aaaabbbbcccc");
  const std::string file = bytes.Build();
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(GgufBytes::ParseBytes(file.substr(0, size)).ok()) << size;
  }
}

TEST(GgufFileTest, RejectsInvalidNames) {
  for (const std::string& name : {std::string(), std::string("\xff"), std::string(70000, 'k')}) {
    ExpectRejected(GgufBytes().Int(name, 1), kInvalid, "key 0: expected a name");
  }
  for (const std::string& name : {std::string(), std::string("\xff"), std::string(65, 't')}) {
    ExpectRejected(GgufBytes().Tensor(name, {1}, kF32, "abcd"), kInvalid,
                   "tensor 0: expected a name");
  }
}

TEST(GgufFileTest, RejectsRepeatedNames) {
  ExpectRejected(GgufBytes().Int("a", 1).Int("a", 1), kInvalid, "key 'a': it occurs twice");
  ExpectRejected(GgufBytes().Tensor("v", {1}, kF32, "abcd").Tensor("v", {1}, kF32, "abcd"),
                 kInvalid, "tensor 'v': it occurs twice");
}

TEST(GgufFileTest, RejectsUnknownTypesAndNestedArrays) {
  ExpectRejected(GgufBytes().Key("a", 13u, "abcd"), kInvalid, "key 'a': unknown type 13");
  ExpectRejected(GgufBytes().Array("a", static_cast<GgufType>(99), 1, "a"), kInvalid,
                 "key 'a': unknown type 99");
  ExpectRejected(GgufBytes().Array("a", GgufType::kArray, 1, std::string(20, '\0')), kUnsupported,
                 "key 'a': arrays of arrays");
  ExpectRejected(GgufBytes().Key("b", GgufType::kBool, "\2"), kInvalid, "key 'b': expected 0 or 1");
}

TEST(GgufFileTest, NamesUnsupportedTensorTypes) {
  ExpectRejected(GgufBytes().Entry("v", {256}, kQ2_K, 0), kUnsupported,
                 "tensor 'v': Q2_K is not supported; supported: F32, F16, Q4_0");
  for (uint32_t type : {4u, 31u, 1000u, UINT32_MAX}) {
    ExpectRejected(GgufBytes().Entry("v", {256}, type, 0), kUnsupported,
                   "tensor 'v': type " + std::to_string(type));
  }
}

// CVE-2024-21802: more dimensions than the reader's array.
TEST(GgufFileTest, RejectsRanksAndSizesOutOfRange) {
  ExpectRejected(GgufBytes().Int("a", 1).Entry("v", {}, kF32, 0), kInvalid,
                 "tensor 'v': expected 1 to 4 dimensions, got 0");
  ExpectRejected(GgufBytes().Entry("v", {1, 1, 1, 1, 1}, kF32, 0), kInvalid,
                 "tensor 'v': expected 1 to 4 dimensions, got 5");
  for (int64_t size : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    ExpectRejected(GgufBytes().Entry("v", {4, size}, kF32, 0), kInvalid,
                   "tensor 'v': expected sizes of at least 1");
  }
  ExpectRejected(GgufBytes().Entry("v", {33}, kQ4_0, 0), kInvalid,
                 "tensor 'v': expected rows of a multiple of 32 elements of Q4_0, got 33");
}

// CVE-2025-53630, CVE-2026-33298: sizes of tensors that wrap to small numbers.
TEST(GgufFileTest, RejectsSizesThatOverflow) {
  ExpectRejected(GgufBytes().Entry("v", {4, int64_t{1} << 62}, kF32, 0), kInvalid,
                 "tensor 'v': the sizes [4611686018427387904, 4] overflow");
  ExpectRejected(GgufBytes().Entry("v", {1 << 20, 1 << 20, 1 << 20, 16}, kF32, 0), kInvalid,
                 "overflow");
}

TEST(GgufFileTest, RejectsDataOutsideTheFile) {
  for (uint64_t offset : {uint64_t{32}, uint64_t{1} << 40, UINT64_MAX - 31}) {
    GgufBytes bytes;
    bytes.Entry("v", {8}, kF32, offset).data = std::string(32, 'x');
    ExpectRejected(bytes, kTruncated, "tensor 'v': expected 32 bytes from");
  }
  ExpectRejected(GgufBytes().Entry("v", {1}, kF32, 0), kTruncated, "there are 0");
}

TEST(GgufFileTest, RejectsUnalignedAndOverlappingData) {
  GgufBytes unaligned;
  unaligned.Entry("v", {1}, kF32, 4).data = std::string(32, 'x');
  ExpectRejected(unaligned, kInvalid,
                 "tensor 'v': expected an offset that is a multiple of 32, got 4");
  GgufBytes overlapping;
  overlapping.Entry("v", {16}, kF32, 0).Entry("w", {8}, kF32, 32).data = std::string(64, 'x');
  ExpectRejected(overlapping, kInvalid, "tensor 'w': its data overlap those of 'v'");
  GgufBytes same;
  same.Entry("v", {8}, kF32, 0).Entry("w", {8}, kF32, 0).data = std::string(64, 'x');
  ExpectRejected(same, kInvalid, "overlap");
}

TEST(GgufFileTest, RejectsInvalidAlignments) {
  for (uint32_t alignment : {0u, 3u, 48u, 1u << 21, UINT32_MAX}) {
    ExpectRejected(GgufBytes().Int("general.alignment", alignment), kInvalid,
                   "key 'general.alignment': expected a power of two");
  }
  ExpectRejected(GgufBytes().Text("general.alignment", "32"), kInvalid,
                 "key 'general.alignment': expected an integer");
}

TEST(GgufFileTest, EscapesNamesInMessages) {
  ExpectRejected(GgufBytes().Key("\x1b[31m", 13u, ""), kInvalid, "\\x1b[31m");
}

}  // namespace
}  // namespace belay::exir
