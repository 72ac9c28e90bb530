// Rules about values that open_program_refusals_test.cc does not cover: docs/pte-format.md §3 to
// §6.
#include "executorch/reader/value_reader.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executorch/reader/data_file.h"
#include "executorch/reader/testing/pte_builder.h"
#include "executorch/reader/testing/table_edits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::HasSubstr;

constexpr absl::StatusCode kBroken = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kLimit = absl::StatusCode::kResourceExhausted;

TEST(ValueReaderTest, PoolsMustBeOnCpu) {
  Relu relu;
  for (int i = 0; i < 2; ++i) {
    relu.method().non_const_buffer_device.push_back(std::make_unique<NonConstBufferDeviceT>());
    relu.method().non_const_buffer_device.back()->buffer_idx = i;
  }
  EXPECT_OK(OpenPte(relu.Serialize()));
  relu.method().non_const_buffer_device[1]->device_type = DeviceType::CUDA;
  EXPECT_THAT(OpenPte(relu.Serialize()), StatusIs(absl::StatusCode::kUnimplemented,
                                                  HasSubstr("pool 1 is memory of a device other")));
}

TEST(ValueReaderTest, RejectsUnknownTensorLocations) {
  Relu relu;
  relu.tensor(relu.x).extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
  EXPECT_OK(OpenPte(relu.Serialize()));
  relu.tensor(relu.x).extra_tensor_info->location = static_cast<TensorDataLocation>(2);
  EXPECT_THAT(OpenPte(relu.Serialize()), StatusIs(kBroken, HasSubstr("location 2 is unknown")));
}

TEST(ValueReaderTest, RejectsUnknownKinds) {
  Relu relu;
  const int32_t n = relu.Int(1);
  std::string file = relu.Serialize();
  const auto* value = GetProgram(file.data())->execution_plan()->Get(0)->values()->Get(n);
  Put<uint8_t>(file, FieldIn(file, value, EValue::VT_VAL_TYPE), 12);
  EXPECT_THAT(OpenPte(file), StatusIs(kBroken, HasSubstr("value 2: kind 12 is unknown")));
}

TEST(ValueReaderTest, OnlyOptionalElementsMayBeNone) {
  const auto open = [](std::function<void(Relu&)> add) {
    Relu relu;
    add(relu);
    return OpenPte(relu.Serialize()).status();
  };
  EXPECT_OK(open([](Relu& p) { p.OptionalTensorList({-1, p.x, -1}); }));
  EXPECT_THAT(open([](Relu& p) { p.OptionalTensorList({-2}); }),
              StatusIs(kBroken, HasSubstr("element 0 is value -2")));
  EXPECT_THAT(open([](Relu& p) { p.OptionalTensorList({p.x, 99}); }),
              StatusIs(kBroken, HasSubstr("element 1 is value 99, there are 3")));
  EXPECT_THAT(open([](Relu& p) { p.TensorList({-1}); }),
              StatusIs(kBroken, HasSubstr("element 0 is value -1")));
  EXPECT_THAT(open([](Relu& p) { p.IntList({INT64_MIN}); }),
              StatusIs(kBroken, HasSubstr("element 0 is value -9223372036854775808")));
  EXPECT_THAT(open([](Relu& p) { p.IntList({INT64_MAX}); }),
              StatusIs(kBroken, HasSubstr("element 0 is value 9223372036854775807")));
}

// ExecuTorch's runtime creates lists of numbers on use, those of tensors at load.
TEST(ValueReaderTest, ScalarsMayFollowTheirList) {
  Relu relu;
  relu.IntList({3, 4});
  relu.Int(1);
  relu.Int(2);
  EXPECT_OK(OpenPte(relu.Serialize()));
  Relu optional;
  optional.OptionalTensorList({3});
  optional.Tensor({1});
  EXPECT_THAT(OpenPte(optional.Serialize()),
              StatusIs(kBroken, HasSubstr("element 0, value 3, comes after the list")));
}

TEST(ValueReaderTest, StringsCountAsMetadata) {
  Relu relu;
  const int32_t first = relu.String(std::string(4000, 't'));
  for (int i = 0; i < 20; ++i) relu.String("t");
  std::string file = relu.Serialize();
  // All values share one string.
  const auto& values = *GetProgram(file.data())->execution_plan()->Get(0)->values();
  const size_t text = OffsetIn(file, values.Get(first)->val_as_String()->string_val());
  for (int32_t v = first + 1; v <= first + 20; ++v) {
    Refer(file, FieldIn(file, values.Get(v)->val_as_String(), String::VT_STRING_VAL), text);
  }
  EXPECT_OK(OpenPte(file));
  belay::Program::Options options;
  options.limits.metadata_bytes = 50'000;
  ASSERT_LT(file.size(), 10'000u);
  EXPECT_THAT(OpenPte(file, options),
              StatusIs(kLimit, HasSubstr("the values of method 'forward'")));
}

// --- External tensors ---

DataFiles DataOf(const std::string& bytes) {
  const auto file = std::make_shared<const std::string>(bytes);
  DataFiles data;
  EXPECT_OK(data.Add(
      file, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file->data()), file->size()),
      Limits()));
  return data;
}

TEST(ValueReaderTest, ExternalTensorMatchesDataFile) {
  const DataFiles data = DataOf(DataFileOf({{"w", {1, 2}}}));
  const auto open = [&](std::function<void(TensorT&)> change) {
    PteBuilder pte;
    const int32_t w = pte.External({2}, "w");
    change(pte.tensor(w));
    pte.Output(w);
    return OpenPte(pte.Serialize(), {}, data).status();
  };
  const std::string other = "external tensor 'w': expected ";
  EXPECT_OK(open([](TensorT&) {}));
  EXPECT_THAT(open([](TensorT& t) { t.scalar_type = 3; }),
              StatusIs(kBroken, HasSubstr(absl::StrCat(other,
                                                       "int32[2], the data file has "
                                                       "float32[2]"))));
  EXPECT_THAT(open([](TensorT& t) { t.sizes = {1}; }),
              StatusIs(kBroken, HasSubstr(absl::StrCat(other, "float32[1]"))));
  EXPECT_THAT(open([](TensorT& t) {
                t.sizes = {2, 1};
                t.dim_order = {0, 1};
              }),
              StatusIs(kBroken, HasSubstr(absl::StrCat(other, "float32[2,1]"))));
}

// A data file of one entry with this tensor layout; nullptr: bytes without a layout.
std::string DataFileWith(std::unique_ptr<ptd::TensorLayoutT> layout) {
  ptd::FlatTensorT root;
  root.segments.push_back(std::make_unique<ptd::DataSegmentT>());
  root.segments[0]->size = 16;
  root.named_data.push_back(std::make_unique<ptd::NamedDataT>());
  root.named_data[0]->key = "w";
  root.named_data[0]->tensor_layout = std::move(layout);
  return SerializeData(root, std::string(16, '\0'));
}

TEST(ValueReaderTest, ExternalTensorRequiresDimOrder) {
  auto layout = std::make_unique<ptd::TensorLayoutT>();
  layout->scalar_type = kFloatType;
  layout->sizes = {2, 2};
  layout->dim_order = {1, 0};
  const DataFiles data = DataOf(DataFileWith(std::move(layout)));
  PteBuilder pte;
  const int32_t w = pte.External({2, 2}, "w");
  pte.Output(w);
  EXPECT_THAT(OpenPte(pte.Serialize(), {}, data),
              StatusIs(kBroken, HasSubstr("or another dim order")));
  pte.tensor(w).dim_order = {1, 0};
  EXPECT_OK(OpenPte(pte.Serialize(), {}, data));
}

TEST(ValueReaderTest, DataFileBlobIsNamedDataNotTensor) {
  const DataFiles data = DataOf(DataFileWith(nullptr));
  PteBuilder pte;
  pte.Output(pte.External({2}, "w"));
  EXPECT_THAT(OpenPte(pte.Serialize(), {}, data),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("external tensor 'w'")));
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(Relu().Serialize(), {}, data));
  ASSERT_OK_AND_ASSIGN(const absl::Span<const std::byte> bytes, program.FindNamedData("w"));
  EXPECT_EQ(bytes.size(), 16u);
}

TEST(ValueReaderTest, ExternalTensorAsInitialContent) {
  const DataFiles data = DataOf(DataFileOf({{"w", {1, 2}}}));
  PteBuilder pte;
  const int32_t w = pte.Tensor({2});
  pte.tensor(w).extra_tensor_info = std::make_unique<ExtraTensorInfoT>();
  pte.tensor(w).extra_tensor_info->location = TensorDataLocation::EXTERNAL;
  pte.tensor(w).extra_tensor_info->fully_qualified_name = "w";
  pte.Output(w);
  ASSERT_OK_AND_ASSIGN(const belay::Program program, OpenPte(pte.Serialize(), {}, data));
  ASSERT_EQ(program.methods()[0].state.size(), 1u);
  ASSERT_TRUE(program.methods()[0].state[0].initial.has_value());
  EXPECT_EQ(program.methods()[0].state[0].initial->size(), 8u);
}

TEST(ValueReaderTest, RejectsKeyInProgramAndDataFile) {
  const DataFiles data = DataOf(DataFileOf({{"w", {1, 2}}}));
  Relu relu;
  relu.AddNamedData("w", "12");
  EXPECT_OK(OpenPte(relu.Serialize()));
  EXPECT_THAT(OpenPte(relu.Serialize(), {}, data),
              StatusIs(kBroken, HasSubstr("the key 'w' is in the program and in a data file")));
}

}  // namespace
}  // namespace belay::pte
