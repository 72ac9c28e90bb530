#include "executorch/reader/data_file.h"

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status AddTo(DataFiles& data, const std::string& bytes, const Limits& limits = {}) {
  const auto file = std::make_shared<const std::string>(bytes);
  return data.Add(
      file, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file->data()), file->size()),
      limits);
}

TEST(DataFilesTest, FindsTensorsByKeyInSeveralFiles) {
  DataFiles data;
  ASSERT_OK(AddTo(data, DataFileOf({{"a", {1, 2}}, {"b", {3}}})));
  ASSERT_OK(AddTo(data, DataFileOf({{"c", {4, 5, 6}}})));
  EXPECT_EQ(data.entries().size(), 3u);
  const ExternalData* c = data.Find("c");
  ASSERT_NE(c, nullptr);
  ASSERT_TRUE(c->layout.has_value());
  EXPECT_EQ(c->layout->dtype, DType::kFloat32);
  EXPECT_EQ(c->layout->sizes, Sizes({3}));
  ASSERT_EQ(c->bytes.size(), 12u);
  float last = 0;
  std::memcpy(&last, c->bytes.data() + 8, sizeof(last));
  EXPECT_EQ(last, 6);
  EXPECT_EQ(data.Find("d"), nullptr);
}

TEST(DataFilesTest, DuplicateKeyAddsNothing) {
  DataFiles data;
  ASSERT_OK(AddTo(data, DataFileOf({{"a", {1}}})));
  EXPECT_THAT(AddTo(data, DataFileOf({{"b", {2}}, {"a", {3}}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'a': another data file has this key")));
  EXPECT_EQ(data.Find("b"), nullptr);
}

TEST(DataFilesTest, RejectsMalformedBytes) {
  const std::string file = DataFileOf({{"a", {1, 2}}});
  struct Case {
    std::function<void(std::string&)> damage;
    absl::StatusCode code;
    std::string message;
  };
  constexpr absl::StatusCode kDamaged = absl::StatusCode::kDataLoss;
  const Case cases[] = {
      {[](auto& f) { f.resize(20); }, kDamaged, "20 bytes"},
      {[](auto& f) { f.replace(4, 4, "ET12"); }, kDamaged, "an ExecuTorch program"},
      {[](auto& f) { f.replace(4, 4, "FT02"); }, absl::StatusCode::kUnimplemented, "'FT02'"},
      {[](auto& f) { f.replace(8, 4, "xxxx"); }, kDamaged, "it is missing"},
      {[](auto& f) { Put<uint32_t>(f, 12, 39); }, kDamaged, "its length is 39"},
      {[](auto& f) { Put<uint64_t>(f, 16, UINT64_MAX); }, kDamaged, "overflow"},
      {[](auto& f) { Put<uint64_t>(f, 24, f.size() + 1); }, kDamaged, "the tables end at"},
      {[](auto& f) { Put<uint64_t>(f, 24, 63); }, kDamaged, "the tables end at 63"},
      {[](auto& f) { Put<uint64_t>(f, 32, UINT64_MAX - 3); }, kDamaged, "segments of"},
      {[](auto& f) { Put<uint64_t>(f, 40, UINT64_MAX); }, kDamaged, "segments of"},
      {[](auto& f) { Put<uint32_t>(f, 0, 0x7ffffff0); }, kDamaged, "tables are damaged"},
  };
  for (const Case& c : cases) {
    std::string damaged = file;
    c.damage(damaged);
    DataFiles data;
    EXPECT_THAT(AddTo(data, damaged), StatusIs(c.code, HasSubstr(c.message)));
  }
}

TEST(DataFilesTest, ReportsAllInvalidTables) {
  ptd::FlatTensorT root;
  const auto segment = [&](uint64_t offset, uint64_t size) {
    root.segments.push_back(std::make_unique<ptd::DataSegmentT>());
    root.segments.back()->offset = offset;
    root.segments.back()->size = size;
  };
  const auto named = [&](std::string key, uint32_t index, std::vector<int32_t> sizes) {
    root.named_data.push_back(std::make_unique<ptd::NamedDataT>());
    ptd::NamedDataT& data = *root.named_data.back();
    data.key = std::move(key);
    data.segment_index = index;
    data.tensor_layout = std::make_unique<ptd::TensorLayoutT>();
    data.tensor_layout->scalar_type = kFloatType;
    for (size_t d = 0; d < sizes.size(); ++d) {
      data.tensor_layout->dim_order.push_back(static_cast<uint8_t>(d));
    }
    data.tensor_layout->sizes = std::move(sizes);
  };
  segment(0, 8);
  segment(UINT64_MAX, 8);
  named("", 0, {2});
  named("segment", 2, {2});
  named("range", 1, {2});
  named("large", 0, {3});
  named("negative", 0, {-1});
  DataFiles data;
  EXPECT_THAT(AddTo(data, SerializeData(root, "12345678")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("named_data[0] '': the key is missing or not UTF-8"),
                             HasSubstr("'segment': segment 2 does not exist, there are 2"),
                             HasSubstr("'range': 8 bytes at 18446744073709551615 are not inside"),
                             HasSubstr("'large': a tensor of 12 bytes, the segment has 8"),
                             HasSubstr("'negative': sizes[0] is -1"))));
  root.version = 1;
  EXPECT_THAT(AddTo(data, SerializeData(root, "12345678")),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("version 1")));
}

TEST(DataFilesTest, EnforcesLimits) {
  const std::string file = DataFileOf({{"a", {1}}, {"b", {2}}});
  DataFiles data;
  Limits limits;
  limits.segments = 1;
  EXPECT_THAT(AddTo(data, file, limits),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'segments' is 1")));
  limits = {};
  limits.metadata_bytes = 100;
  EXPECT_THAT(AddTo(data, file, limits),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("metadata_bytes")));
}

TEST(DataFilesTest, RejectsDuplicateKeyInFile) {
  DataFiles data;
  EXPECT_THAT(AddTo(data, DataFileOf({{"a", {1}}, {"b", {2}}, {"a", {3}}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("named_data[2] 'a': the key is a duplicate")));
  EXPECT_EQ(data.entries().size(), 0u);
}

// A data file without segments, for removing fields of its tables.
std::string WithoutSegments() {
  ptd::FlatTensorT root;
  root.named_data.push_back(std::make_unique<ptd::NamedDataT>());
  root.named_data[0]->key = "a";
  root.named_data[0]->tensor_layout = std::make_unique<ptd::TensorLayoutT>();
  root.named_data[0]->tensor_layout->scalar_type = kFloatType;
  root.named_data[0]->tensor_layout->sizes = {0};
  root.named_data[0]->tensor_layout->dim_order = {0};
  root.segments.push_back(std::make_unique<ptd::DataSegmentT>());
  return SerializeData(root, "");
}

TEST(DataFilesTest, RejectsMissingTablesAndVectors) {
  using Root = ptd::FlatTensor;
  using Layout = ptd::TensorLayout;
  const auto root = [](const Root& r) -> const void* { return &r; };
  const auto entry = [](const Root& r) -> const void* { return r.named_data()->Get(0); };
  const auto layout = [](const Root& r) -> const void* {
    return r.named_data()->Get(0)->tensor_layout();
  };
  struct Case {
    std::function<const void*(const Root&)> table;
    flatbuffers::voffset_t field;
    std::string message;  // "": it need not be there
  };
  const Case cases[] = {
      {root, Root::VT_NAMED_DATA, ""},
      {root, Root::VT_SEGMENTS, "segment 0 does not exist, there are 0"},
      {entry, ptd::NamedData::VT_TENSOR_LAYOUT, ""},
      {entry, ptd::NamedData::VT_KEY, "the key is missing or not UTF-8"},
      {layout, Layout::VT_SIZES, "sizes are missing"},
      {layout, Layout::VT_DIM_ORDER, "dim_order is missing"},
  };
  const std::string file = WithoutSegments();
  for (const Case& c : cases) {
    std::string damaged = file;
    Remove(damaged, c.table(*ptd::GetFlatTensor(damaged.data())), c.field);
    Put<uint64_t>(damaged, 24, damaged.size());  // claims longer tables
    Put<uint64_t>(damaged, 32, damaged.size());
    DataFiles data;
    const absl::Status status = AddTo(data, damaged);
    if (c.message.empty()) {
      EXPECT_OK(status) << c.field;
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
    }
  }
}

// Entries may share their keys: the bytes of copies count.
TEST(DataFilesTest, SharedKeysCountPerEntry) {
  ptd::FlatTensorT root;
  for (int i = 0; i < 20; ++i) {
    root.named_data.push_back(std::make_unique<ptd::NamedDataT>());
    root.named_data[i]->key = i == 0 ? std::string(2000, 'k') : "k";
  }
  root.segments.push_back(std::make_unique<ptd::DataSegmentT>());
  std::string file = SerializeData(root, "");
  ShareFirst(file, *ptd::GetFlatTensor(file.data())->named_data());
  Limits limits;
  limits.metadata_bytes = 39'999;
  ASSERT_LT(file.size(), 10'000u);
  DataFiles data;
  EXPECT_THAT(AddTo(data, file, limits),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("named_data: its keys have 40000 bytes, the limit "
                                 "'metadata_bytes' is 39999")));
}

TEST(DataFilesTest, KeysAreUtf8) {
  DataFiles data;
  EXPECT_THAT(
      AddTo(data, DataFileOf({{"\xff", {1}}})),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the key is missing or not UTF-8")));
}

}  // namespace
}  // namespace belay::pte
