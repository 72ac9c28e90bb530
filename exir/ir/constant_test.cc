#include "exir/ir/constant.h"

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Bytes 0, 1, 2, … at offset `skip` of their owner.
Storage Bytes(size_t count, size_t skip = 0) {
  std::vector<std::byte> bytes(count + skip);
  for (size_t i = 0; i < count; ++i) bytes[skip + i] = static_cast<std::byte>(i);
  Storage storage = Storage::Own(std::move(bytes));
  storage.bytes = storage.bytes.subspan(skip);
  return storage;
}

std::vector<int> Contents(const Storage& storage) {
  std::vector<int> contents;
  for (std::byte b : storage.bytes) contents.push_back(static_cast<int>(b));
  return contents;
}

ConstantTensor Make(DType dtype, Sizes sizes, Strides strides, int64_t offset, Storage storage) {
  absl::StatusOr<ConstantTensor> tensor =
      ConstantTensor::Create(dtype, sizes, strides, offset, std::move(storage));
  EXPECT_OK(tensor);
  return *std::move(tensor);
}

TEST(ConstantTensor, AcceptsElementsInsideItsStorage) {
  EXPECT_OK(ConstantTensor::Create(DType::kFloat32, {2, 3}, {3, 1}, 0, Bytes(24)));
  EXPECT_OK(ConstantTensor::Create(DType::kFloat32, {2, 3}, {1, 2}, 4, Bytes(40)));
  EXPECT_OK(ConstantTensor::Create(DType::kFloat32, {}, {}, 5, Bytes(24)));
  EXPECT_OK(ConstantTensor::Create(DType::kFloat32, {1 << 20, 2}, {0, 1}, 0, Bytes(8)));
  EXPECT_OK(ConstantTensor::Create(DType::kFloat32, {0, 7}, {7, 1}, kMax, Bytes(0)));
  EXPECT_OK(ConstantTensor::Contiguous(DType::kInt8, {4, 0, 2}, Storage()));
}

TEST(ConstantTensor, RejectsNegativeNumbers) {
  constexpr absl::StatusCode kCode = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(ConstantTensor::Create(DType::kInt8, {-1}, {1}, 0, Bytes(8)), StatusIs(kCode));
  EXPECT_THAT(ConstantTensor::Create(DType::kInt8, {1}, {-1}, 0, Bytes(8)), StatusIs(kCode));
  EXPECT_THAT(ConstantTensor::Create(DType::kInt8, {1}, {1}, -1, Bytes(8)), StatusIs(kCode));
  EXPECT_THAT(ConstantTensor::Create(DType::kInt8, {1, 2}, {1}, 0, Bytes(8)),
              StatusIs(kCode, HasSubstr("as many strides as sizes")));
  EXPECT_THAT(ConstantTensor::Contiguous(DType::kInt8, {-4}, Bytes(8)), StatusIs(kCode));
}

TEST(ConstantTensor, RejectsElementsOutsideItsStorage) {
  constexpr absl::StatusCode kCode = absl::StatusCode::kOutOfRange;
  EXPECT_THAT(
      ConstantTensor::Create(DType::kFloat32, {2, 3}, {3, 1}, 0, Bytes(23)),
      StatusIs(kCode, HasSubstr("f32[2,3] with strides [3,1] at element 0 ends at byte 24, the "
                                "storage has 23 bytes")));
  EXPECT_THAT(ConstantTensor::Create(DType::kFloat32, {2, 3}, {3, 1}, 1, Bytes(24)),
              StatusIs(kCode));
  EXPECT_THAT(ConstantTensor::Create(DType::kFloat32, {2}, {kMax}, 0, Bytes(8)),
              StatusIs(kCode, HasSubstr("2^63")));
  EXPECT_THAT(ConstantTensor::Create(DType::kInt8, {1}, {1}, kMax, Bytes(8)), StatusIs(kCode));
  EXPECT_THAT(ConstantTensor::Create(DType::kInt8, {kMax, kMax}, {0, 0}, 0, Bytes(8)),
              StatusIs(kCode));
  EXPECT_THAT(ConstantTensor::Create(DType::kFloat64, {kMax}, {0}, 0, Bytes(8)), StatusIs(kCode));
}

TEST(ConstantTensor, ViewsWithoutElementsStayInTheirStorage) {
  const Storage storage = Bytes(8);
  const ConstantTensor part = Make(DType::kInt16, {2}, {1}, 1, storage);
  EXPECT_EQ(part.view().data, storage.bytes.data() + 2);
  const ConstantTensor empty = Make(DType::kInt16, {3, 0}, {1, 1}, 100, storage);
  EXPECT_EQ(empty.view().data, storage.bytes.data());
  EXPECT_EQ(Make(DType::kInt16, {0}, {1}, 0, Storage()).view().data, nullptr);
}

TEST(ConstantTensor, ScalarsOfEveryDtype) {
  for (int d = 1; d < kNumDTypes; ++d) {
    const DType dtype = static_cast<DType>(d);
    const ConstantTensor scalar = ConstantTensor::Scalar(dtype, 1.0);
    EXPECT_EQ(scalar.sizes().size(), 0);
    EXPECT_EQ(scalar.storage().bytes.size(), DTypeSize(dtype));
    EXPECT_EQ(Contents(ConstantTensor::ScalarInt(dtype, 1).storage()), Contents(scalar.storage()));
  }
  EXPECT_THAT(ToVector<float>(ConstantTensor::Scalar(DType::kFloat32, 2.5).view()),
              ElementsAre(2.5f));
  EXPECT_THAT(ToVector<int64_t>(ConstantTensor::ScalarInt(DType::kInt64, kMax).view()),
              ElementsAre(kMax));
  EXPECT_THAT(Contents(ConstantTensor::Scalar(DType::kComplex32, 1).storage()),
              ElementsAre(0, 0x3c, 0, 0));
}

TEST(Dense, ReturnsTheStoragesOwnBytesIfPossible) {
  const Storage storage = Bytes(16);
  const ConstantTensor tensor = Make(DType::kInt16, {2, 3}, {3, 1}, 2, storage);
  ASSERT_OK_AND_ASSIGN(const Storage dense, tensor.Dense());
  EXPECT_EQ(dense.bytes.data(), storage.bytes.data() + 4);
  EXPECT_EQ(dense.bytes.size(), 12);
  const ConstantTensor transposed = Make(DType::kInt16, {3, 2}, {1, 3}, 2, storage);
  ASSERT_OK_AND_ASSIGN(const Storage same, transposed.Dense(DimOrder{1, 0}));
  EXPECT_EQ(same.bytes.data(), storage.bytes.data() + 4);
}

TEST(Dense, CopiesStridedOrUnalignedTensors) {
  const ConstantTensor transposed = Make(DType::kInt8, {3, 2}, {1, 3}, 1, Bytes(16));
  ASSERT_OK_AND_ASSIGN(const Storage dense, transposed.Dense());
  EXPECT_THAT(Contents(dense), ElementsAre(1, 4, 2, 5, 3, 6));
  const Storage odd = Bytes(8, 1);
  const ConstantTensor unaligned = Make(DType::kInt32, {2}, {1}, 0, odd);
  ASSERT_OK_AND_ASSIGN(const Storage aligned, unaligned.Dense());
  EXPECT_NE(aligned.bytes.data(), odd.bytes.data());
  EXPECT_EQ(Contents(aligned), Contents(odd));
  const ConstantTensor expanded = Make(DType::kInt8, {2, 3}, {0, 1}, 0, Bytes(3));
  ASSERT_OK_AND_ASSIGN(const Storage repeated, expanded.Dense());
  EXPECT_THAT(Contents(repeated), ElementsAre(0, 1, 2, 0, 1, 2));
  ASSERT_OK_AND_ASSIGN(const Storage none, Make(DType::kInt8, {0, 3}, {3, 1}, 0, Bytes(3)).Dense());
  EXPECT_TRUE(none.bytes.empty());
}

TEST(Dense, AgreesWithElementwiseCopyForRandomTensors) {
  std::mt19937 random(TestSeed());
  for (int round = 0; round < 300; ++round) {
    const DType dtypes[] = {DType::kInt8, DType::kInt16, DType::kFloat32, DType::kInt64,
                            DType::kComplex128};
    const DType dtype = dtypes[random() % 5];
    Sizes sizes;
    Strides strides;
    DimOrder order;
    for (size_t rank = random() % 5; rank > 0; --rank) {
      sizes.push_back(random() % 4);
      strides.push_back(random() % 9);
      order.push_back(static_cast<uint8_t>(order.size()));
    }
    std::shuffle(order.begin(), order.end(), random);
    const ConstantTensor tensor =
        Make(dtype, sizes, strides, static_cast<int64_t>(random() % 5), Bytes(2048, random() % 2));
    ASSERT_OK_AND_ASSIGN(const Storage dense, tensor.Dense(order));
    const size_t size = DTypeSize(dtype);
    std::vector<std::byte> expected(dense.bytes.size());
    const Strides dense_strides = DenseStrides(sizes, order);
    for (StridedIterator<2> it(sizes, {strides, dense_strides}); !it.done(); it.Next()) {
      std::memcpy(expected.data() + it.offset(1) * size,
                  static_cast<const std::byte*>(tensor.view().data) + it.offset(0) * size, size);
    }
    EXPECT_EQ(absl::MakeConstSpan(expected), dense.bytes);
  }
}

TEST(Dense, LimitsCopiesOfExpandedTensors) {
  const ConstantTensor huge = Make(DType::kFloat32, {int64_t{1} << 40}, {0}, 0, Bytes(4));
  EXPECT_THAT(huge.Dense(), StatusIs(absl::StatusCode::kResourceExhausted));
}

// Several weights that repeat the same few bytes add up.
TEST(Dense, CopiesShareTheBudget) {
  const ConstantTensor repeated = Make(DType::kInt8, {100, 10}, {0, 1}, 0, Bytes(10));
  Budget budget;
  budget.bytes.allowed = 2500;
  const Budget::Scope scope(&budget);
  EXPECT_OK(repeated.Dense());
  EXPECT_OK(repeated.Dense());
  EXPECT_THAT(repeated.Dense(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("a dense copy of i8[100,10] takes 1000 bytes, 500 are left of the "
                                 "2500 that the limit 'memory' allows")));
  // Dense tensors are not copied.
  EXPECT_OK(Make(DType::kInt8, {1000}, {1}, 0, Bytes(1000)).Dense());
}

TEST(Dense, RejectsInvalidOrders) {
  const ConstantTensor tensor = Make(DType::kInt8, {2, 3}, {3, 1}, 0, Bytes(6));
  EXPECT_THAT(tensor.Dense(DimOrder{0, 0}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(tensor.Dense(DimOrder{0}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(tensor.Dense(DimOrder{1, 2}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(Storage, ZerosUseNoMemory) {
  ASSERT_OK_AND_ASSIGN(const Storage zeros, Storage::Zeros(uint64_t{1} << 36));
  EXPECT_EQ(zeros.bytes[uint64_t{1} << 35], std::byte{0});
  EXPECT_THAT(Storage::Zeros(~uint64_t{0}), StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_OK_AND_ASSIGN(const Storage none, Storage::Zeros(0));
  EXPECT_TRUE(none.bytes.empty());
}

}  // namespace
}  // namespace belay::exir
