#include "exir/emit/constant_pool.h"

#include <string>
#include <vector>

#include "exir/backend/named_data_store.h"
#include "exir/backend/testing/recording_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ConstantPoolTest, NamedDataPreservesKeySizeAlignmentAndLayout) {
  NamedDataStore store;
  NamedDataOptions options;
  options.alignment = 16;
  ASSERT_OK(store.Add("bytes", TextStorage("some bytes"), options));
  options.alignment = 4;
  options.layout = NamedDataEntry::TensorLayout{DType::kFloat32, {1, 2, 1, 3}, {0, 2, 3, 1}};
  ASSERT_OK(store.Add("tensor", TextStorage(std::string(24, 'x')), options));
  ProgramImage image;
  const NamedDataOutput output = store.output();
  ASSERT_OK(ConstantPool(&image).AddNamedData({&output}));
  ASSERT_EQ(image.metadata.named_data_size(), 2);
  const schema::NamedData& bytes = image.metadata.named_data(0);
  EXPECT_EQ(bytes.key(), "bytes");
  EXPECT_EQ(bytes.size(), 10u);
  EXPECT_EQ(bytes.alignment(), 16u);
  EXPECT_FALSE(bytes.has_layout());
  const schema::NamedData& tensor = image.metadata.named_data(1);
  EXPECT_EQ(tensor.key(), "tensor");
  EXPECT_EQ(tensor.size(), 24u);
  EXPECT_EQ(tensor.alignment(), 4u);
  ASSERT_TRUE(tensor.has_layout());
  EXPECT_EQ(tensor.layout().dtype(), static_cast<uint32_t>(DType::kFloat32));
  EXPECT_THAT(tensor.layout().sizes(), ElementsAre(1, 2, 1, 3));
  EXPECT_EQ(tensor.layout().dim_order(), std::string("\0\2\3\1", 4));
  for (const schema::NamedData& entry : image.metadata.named_data()) {
    const ProgramImage::Segment& segment = image.segments[entry.segment()];
    EXPECT_EQ(segment.kind, schema::Segment::NAMED_DATA);
    ASSERT_EQ(segment.pieces.size(), 1u);
    EXPECT_EQ(TextOf(segment.pieces[0]), entry.has_layout() ? std::string(24, 'x') : "some bytes");
  }
}

TEST(ConstantPoolTest, KeysWithEqualContentShareSegmentAndDigest) {
  NamedDataStore a, b;
  ASSERT_OK(a.Add("k", TextStorage("same"), {.alignment = 256, .sha256 = std::string(32, 'd')}));
  ASSERT_OK(b.Add("l", TextStorage("same"), {.alignment = 512}));
  ASSERT_OK(b.Add("k", TextStorage("same")));
  ProgramImage image;
  ASSERT_OK(ConstantPool(&image).AddNamedData({&a.output(), &b.output()}));
  ASSERT_EQ(image.segments.size(), 1u);
  EXPECT_EQ(image.segments[0].alignment, 512u);
  EXPECT_EQ(image.segments[0].sha256, std::string(32, 'd'));
  EXPECT_EQ(image.metadata.named_data_size(), 2);
}

TEST(ConstantPoolTest, CompanionFilesHaveSeparateSegments) {
  NamedDataStore store;
  ASSERT_OK(store.Add("a", TextStorage("same")));
  ASSERT_OK(store.Add("b", TextStorage("same"), {.external_tag = "one"}));
  ASSERT_OK(store.Add("c", TextStorage("same"), {.external_tag = "one"}));
  ASSERT_OK(store.Add("d", TextStorage("same"), {.external_tag = "two"}));
  ProgramImage image;
  ASSERT_OK(ConstantPool(&image).AddNamedData({&store.output()}));
  std::vector<std::string> places;
  for (const schema::NamedData& data : image.metadata.named_data()) {
    places.push_back(data.key() + " in '" + image.segments[data.segment()].companion + "'");
  }
  EXPECT_THAT(places, ElementsAre("a in ''", "b in 'one'", "c in 'one'", "d in 'two'"));
  EXPECT_EQ(image.segments.size(), 3u);
}

TEST(ConstantPoolTest, RejectsKeyConflictsAndMissingBuffers) {
  const auto output = [](const std::string& text, const std::string& tag, size_t buffer) {
    NamedDataStore store;
    EXPECT_OK(store.Add("k", TextStorage(text), {.external_tag = tag}));
    NamedDataOutput made = store.output();
    (tag.empty() ? made.program_data : made.external_data[tag])["k"].buffer = buffer;
    return made;
  };
  const NamedDataOutput first = output("first", "", 0), other = output("second", "", 0),
                        outside = output("second", "file", 0);
  for (const NamedDataOutput* second : {&other, &outside}) {
    ProgramImage image;
    EXPECT_THAT(ConstantPool(&image).AddNamedData({&first, second}),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         "named data 'k' exists with other content: 5 bytes and 6 bytes"));
  }
  for (const char* tag : {"", "file"}) {
    ProgramImage image;
    const NamedDataOutput none = output("bytes", tag, 1);
    EXPECT_THAT(ConstantPool(&image).AddNamedData({&none}),
                StatusIs(absl::StatusCode::kInternal, "named data 'k' has no buffer"));
  }
}

TEST(ConstantPoolTest, EqualBlobsShareSegment) {
  ProgramImage image;
  ConstantPool pool(&image);
  const uint32_t a = pool.AddDelegateBlob(TextStorage("blob"));
  const uint32_t b = pool.AddDelegateBlob(TextStorage("other"));
  EXPECT_EQ(pool.AddDelegateBlob(TextStorage("blob")), a);
  ASSERT_EQ(image.segments.size(), 2u);
  EXPECT_EQ(image.segments[a].kind, schema::Segment::DELEGATE);
  EXPECT_EQ(TextOf(image.segments[a].pieces[0]), "blob");
  EXPECT_EQ(TextOf(image.segments[b].pieces[0]), "other");
}

ConstantTensor Bytes(const std::string& text) {
  auto made = ConstantTensor::Contiguous(DType::kUint8, {static_cast<int64_t>(text.size())},
                                         TextStorage(text));
  EXPECT_OK(made.status());
  return *std::move(made);
}

TEST(ConstantPoolTest, RejectsDimOrderOfWrongRank) {
  ProgramImage image;
  const uint8_t order[] = {0, 1};
  EXPECT_THAT(ConstantPool(&image).AddTensor(Bytes("text"), order).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a permutation of the 1 dimensions, got one of length 2")));
}

TEST(ConstantPoolTest, NamedConstantsAreNotStored) {
  ProgramImage image;
  std::vector<std::string> asked;
  ConstantPool pool(&image,
                    [&](const Storage& bytes, const std::string&) -> absl::StatusOr<std::string> {
                      asked.push_back(std::string(TextOf(bytes)));
                      if (asked.back() == "broken") return absl::InternalError("no key");
                      return asked.back() == "small" ? "" : "key of " + asked.back();
                    });
  const uint8_t order[] = {0};
  for (const char* text : {"small", "large", "small", "large", "larger"}) {
    ASSERT_OK(pool.AddTensor(Bytes(text), order).status());
  }
  EXPECT_THAT(pool.AddTensor(Bytes("broken"), order).status(),
              StatusIs(absl::StatusCode::kInternal, "no key"));
  EXPECT_THAT(asked, ElementsAre("small", "large", "larger", "broken"));
  ASSERT_EQ(image.metadata.constants_size(), 3);
  EXPECT_EQ(image.metadata.constants(0).named_data(), "");
  EXPECT_EQ(image.metadata.constants(1).named_data(), "key of large");
  EXPECT_EQ(image.metadata.constants(1).size(), 5u);
  EXPECT_THAT(image.metadata.required_features(), ElementsAre("named_constants"));
  ASSERT_EQ(image.segments.size(), 1u);
  EXPECT_EQ(image.segments[0].pieces.size(), 1u);
}

TEST(ConstantPoolTest, ConstantsOfAFileHaveTheirOwnSegment) {
  ProgramImage image;
  ConstantPool pool(&image);
  const uint8_t order[] = {0};
  for (const char* file : {"", "one", "", "one", "two"}) {
    ASSERT_OK(pool.AddTensor(Bytes("same"), order, file).status());
  }
  ASSERT_OK(pool.AddTensor(Bytes("other"), order, "one").status());
  ASSERT_EQ(image.metadata.constants_size(), 4);
  ASSERT_EQ(image.segments.size(), 3u);
  EXPECT_EQ(image.segments[1].companion, "one");
  EXPECT_EQ(image.segments[1].pieces.size(), 2u);
  EXPECT_EQ(image.metadata.constants(3).segment(), 1u);
  EXPECT_EQ(image.metadata.constants(3).offset(), 64u);
}

TEST(ConstantPoolTest, NestedProgramsAreInOnePiece) {
  ProgramImage image;
  std::vector<std::string> files;
  ConstantPool pool(&image,
                    [&](const Storage&, const std::string& file) -> absl::StatusOr<std::string> {
                      files.push_back(file);
                      return "";
                    });
  const uint8_t order[] = {0};
  ASSERT_OK(pool.AddTensor(Bytes("small"), order, "weights").status());
  EXPECT_THAT(files, ElementsAre("weights"));
  ASSERT_EQ(image.segments.size(), 1u);
  EXPECT_EQ(image.segments[0].companion, "");
}

TEST(ConstantPoolTest, ReplaceableTensorsAreNamedData) {
  ProgramImage image;
  ConstantPool pool(&image);
  const uint8_t order[] = {0};
  const InputSpec a = {.target = "a", .replaceable = true};
  const InputSpec b = {.target = "b", .replaceable = true, .file = "adapters"};
  // Equal elements of two names may become different.
  ASSERT_OK_AND_ASSIGN(const uint32_t first, pool.AddReplaceable(a, Bytes("same"), order));
  ASSERT_OK_AND_ASSIGN(const uint32_t second, pool.AddReplaceable(b, Bytes("same"), order));
  EXPECT_NE(first, second);
  ASSERT_OK_AND_ASSIGN(const uint32_t again, pool.AddReplaceable(a, Bytes("same"), order));
  EXPECT_EQ(again, first);
  EXPECT_THAT(pool.AddReplaceable(a, Bytes("else"), order).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("a")));
  ASSERT_OK(pool.AddNamedData({}));
  ASSERT_EQ(image.metadata.named_data_size(), 2);
  EXPECT_TRUE(image.metadata.named_data(0).replaceable());
  EXPECT_EQ(image.metadata.constants(0).named_data(), "a");
  EXPECT_EQ(image.segments[image.metadata.named_data(1).segment()].companion, "adapters");
}

TEST(ConstantPoolTest, NameOfAReplaceableTensorIsNotThatOfOtherData) {
  ProgramImage image;
  ConstantPool pool(&image);
  const uint8_t order[] = {0};
  ASSERT_OK(pool.AddReplaceable({.target = "a", .replaceable = true}, Bytes("same"), order));
  NamedDataStore store;
  ASSERT_OK(store.Add("a", TextStorage("same")));
  EXPECT_THAT(pool.AddNamedData({&store.output()}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("replaceable tensor")));
}

TEST(ConstantPoolTest, AlignmentIsLimitedToPageSize) {
  const auto aligned = [](std::vector<int64_t> alignments) -> absl::StatusOr<uint64_t> {
    NamedDataStore store;
    for (size_t i = 0; i < alignments.size(); ++i) {
      ABSL_RETURN_IF_ERROR(
          store.Add("k" + std::to_string(i), TextStorage("same"), {.alignment = alignments[i]}));
    }
    ProgramImage image;
    ABSL_RETURN_IF_ERROR(ConstantPool(&image).AddNamedData({&store.output()}));
    return image.segments[0].alignment;
  };
  EXPECT_EQ(aligned({1}).value_or(0), 128u);
  EXPECT_EQ(aligned({384}).value_or(0), 512u);
  EXPECT_EQ(aligned({1 << 21, 4}).value_or(0), 1u << 21);
  const auto too_much = [](int64_t alignment) {
    return StatusIs(
        absl::StatusCode::kInvalidArgument,
        HasSubstr(absl::StrCat("expected an alignment of at most 2097152, with all that "
                               "its bytes are aligned to, got ",
                               alignment)));
  };
  EXPECT_THAT(aligned({(1 << 21) + 1}), too_much((1 << 21) + 1));
  EXPECT_THAT(aligned({INT64_MAX}), too_much(INT64_MAX));
  EXPECT_THAT(aligned({1024, 4097}), too_much(4097));
}

}  // namespace
}  // namespace belay::exir
