#include "exir/interpreter/owned_value.h"

#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kLimit = 1 << 20;

TEST(OwnedValueTest, AllocatesZeroedTensors) {
  ASSERT_OK_AND_ASSIGN(const OwnedValue value,
                       OwnedValue::Allocate(DType::kFloat32, {2, 2}, {1, 2}, kLimit));
  EXPECT_THAT(ToVector<float>(*value.tensor()), ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(value.writable());
  ASSERT_OK_AND_ASSIGN(const OwnedValue empty,
                       OwnedValue::Allocate(DType::kFloat32, {0, 2}, {2, 1}, 0));
  EXPECT_EQ(empty.tensor()->numel(), 0);
  // Strides of empty tensors are ignored.
  EXPECT_OK(OwnedValue::Allocate(DType::kFloat32, {2, 0}, {5, 1}, 0));
}

TEST(OwnedValueTest, RejectsInvalidTensors) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  struct Case {
    Sizes sizes;
    Strides strides;
    uint64_t limit;
    absl::StatusCode code;
    std::string error;
  };
  for (const Case& c : {
           Case{{2}, {}, kLimit, absl::StatusCode::kInvalidArgument, "no tensor has sizes"},
           Case{{kHuge, kHuge},
                {kHuge, 1},
                kLimit,
                absl::StatusCode::kInvalidArgument,
                "no tensor has sizes"},
           Case{{2}, {-1}, kLimit, absl::StatusCode::kInvalidArgument, "negative strides"},
           Case{{2, 2}, {0, 1}, kLimit, absl::StatusCode::kInvalidArgument, "overlap"},
           Case{{1 << 20, 2},
                {kHuge * 1024 * 1024, 1},
                kLimit,
                absl::StatusCode::kResourceExhausted,
                "a tensor of sizes"},
           Case{{kHuge * (1 << 21)},
                {1},
                ~uint64_t{0},
                absl::StatusCode::kResourceExhausted,
                "takes more than"},
           Case{{3}, {1}, 11, absl::StatusCode::kResourceExhausted, "takes more than 11 bytes"},
       }) {
    EXPECT_THAT(OwnedValue::Allocate(DType::kFloat32, c.sizes, c.strides, c.limit),
                StatusIs(c.code, HasSubstr(c.error)))
        << c.error;
  }
}

TEST(OwnedValueTest, RejectsViewsOutsideStorage) {
  ASSERT_OK_AND_ASSIGN(const OwnedValue value,
                       OwnedValue::Allocate(DType::kFloat32, {4}, {1}, kLimit));
  for (int i = 0; i < 4; ++i) value.tensor()->as<float>()[i] = static_cast<float>(i);
  ASSERT_OK_AND_ASSIGN(const OwnedValue view, value.View(DType::kFloat32, {2}, {2}, 1));
  EXPECT_THAT(ToVector<float>(*view.tensor()), ElementsAre(1, 3));
  EXPECT_TRUE(view.SharesStorage(value));
  EXPECT_EQ(*view.Meta().storage_offset.AsInt(), 1);
  // Offsets refer to the storage, not to the view.
  ASSERT_OK_AND_ASSIGN(const OwnedValue whole, view.View(DType::kFloat32, {4}, {1}, 0));
  EXPECT_THAT(ToVector<float>(*whole.tensor()), ElementsAre(0, 1, 2, 3));
  EXPECT_OK(value.View(DType::kFloat32, {0}, {1}, 100));  // an empty view may have any offset
  struct Case {
    DType dtype;
    Sizes sizes;
    Strides strides;
    int64_t offset;
    absl::StatusCode code = absl::StatusCode::kOutOfRange;
  };
  for (const Case& c : {
           Case{DType::kFloat32, {4}, {1}, -1},
           Case{DType::kFloat32, {4}, {1}, 1},
           Case{DType::kFloat32, {2}, {4}, 0},
           Case{DType::kFloat64, {3}, {1}, 0},
           Case{DType::kFloat32, {1}, {1}, INT64_MAX},
           Case{DType::kFloat32, {2}, {-1}, 1, absl::StatusCode::kInvalidArgument},
       }) {
    EXPECT_THAT(value.View(c.dtype, c.sizes, c.strides, c.offset), StatusIs(c.code))
        << FormatSizes(c.sizes) << FormatSizes(c.strides) << c.offset;
  }
}

TEST(OwnedValueTest, SlicesAreRows) {
  const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const OwnedValue value = OwnedValue::Borrow(x, false);
  EXPECT_THAT(ToVector<float>(*value.Slice(1).tensor()), ElementsAre(3, 4));
  EXPECT_FALSE(value.Slice(1).writable());
  const TestTensor none = TestTensor::Of<float>({2, 0}, {});
  EXPECT_EQ(OwnedValue::Borrow(none, false).Slice(1).tensor()->sizes, Sizes({0}));
}

TEST(OwnedValueTest, CopiesShareNothingAndKeepDimOrder) {
  const TestTensor x = TestTensor::Strided<float>({2, 3}, {1, 2}, {1, 2, 3, 4, 5, 6});
  const OwnedValue value = OwnedValue::Borrow(x, true);
  ASSERT_OK_AND_ASSIGN(const OwnedValue copy, value.Copy());
  EXPECT_EQ(copy.tensor()->strides, Strides({1, 2}));
  EXPECT_THAT(ToVector<float>(*copy.tensor()), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_FALSE(copy.SharesStorage(value));
  // Overlapping tensors have no dimension order.
  const TestTensor same = TestTensor::Strided<float>({2, 2}, {0, 0}, {7, 7, 7, 7});
  ASSERT_OK_AND_ASSIGN(const OwnedValue dense, OwnedValue::Borrow(same, true).Copy());
  EXPECT_THAT(ToVector<float>(*dense.tensor()), ElementsAre(7, 7, 7, 7));
  ASSERT_OK_AND_ASSIGN(const OwnedValue number, OwnedValue::Scalar(EValue(int64_t{3})).Copy());
  EXPECT_EQ(*number.value().get_if<int64_t>(), 3);
}

TEST(OwnedValueTest, OnlyTensorsShareStorage) {
  const OwnedValue text = OwnedValue::String("mean");
  EXPECT_FALSE(text.SharesStorage(text));
  EXPECT_FALSE(OwnedValue().SharesStorage(OwnedValue()));
}

TEST(OwnedValueTest, BorrowsNothingOfInvalidTensor) {
  TestTensor x = TestTensor::Of<float>({2}, {1, 2});
  TensorView view = x;
  view.strides = {-1};
  const OwnedValue value = OwnedValue::Borrow(view, true);
  EXPECT_THAT(value.View(DType::kFloat32, {1}, {1}, 0), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST(OwnedValueTest, SharesAlignedConstants) {
  std::vector<std::byte> bytes(17);
  const float values[] = {1, 2, 3, 4};
  for (const size_t at : {size_t{0}, size_t{1}}) {
    std::vector<std::byte> copy = bytes;
    std::memcpy(copy.data() + at, values, sizeof(values));
    Storage storage = Storage::Own(copy);
    storage.bytes = storage.bytes.subspan(at, 16);
    ASSERT_OK_AND_ASSIGN(const ConstantTensor constant,
                         ConstantTensor::Create(DType::kFloat32, {2, 2}, {1, 2}, 0, storage));
    ASSERT_OK_AND_ASSIGN(const OwnedValue value, OwnedValue::Constant(constant));
    EXPECT_THAT(ToVector<float>(*value.tensor()), ElementsAre(1, 3, 2, 4));
    EXPECT_FALSE(value.writable());
    EXPECT_EQ(value.tensor()->data == constant.view().data, at == 0);
    // It converts back to a constant.
    ASSERT_OK_AND_ASSIGN(const ConstantTensor back, value.ToConstant());
    EXPECT_THAT(ToVector<float>(back.view()), ElementsAre(1, 3, 2, 4));
  }
  // Empty tensors have no address.
  Storage storage = Storage::Own(bytes);
  storage.bytes = storage.bytes.subspan(1, 0);
  ASSERT_OK_AND_ASSIGN(const ConstantTensor empty,
                       ConstantTensor::Create(DType::kFloat32, {0}, {1}, 0, storage));
  ASSERT_OK_AND_ASSIGN(const OwnedValue value, OwnedValue::Constant(empty));
  EXPECT_EQ(value.tensor()->numel(), 0);
}

TEST(OwnedValueTest, PlannedTensorsHaveNoMemoryYet) {
  const OwnedValue value = OwnedValue::Planned(DType::kInt64, {2, 3}, {3, 1});
  EXPECT_EQ(value.tensor()->data, nullptr);
  const TensorMeta meta = value.Meta();
  EXPECT_EQ(meta.dtype, DType::kInt64);
  EXPECT_EQ(meta.rank(), 2);
  EXPECT_EQ(*meta.storage_offset.AsInt(), 0);
  // Empty tensors need no memory either.
  ASSERT_OK_AND_ASSIGN(const ConstantTensor empty,
                       OwnedValue::Planned(DType::kInt64, {0}, {1}).ToConstant());
  EXPECT_EQ(empty.view().numel(), 0);
}

}  // namespace
}  // namespace belay::exir
