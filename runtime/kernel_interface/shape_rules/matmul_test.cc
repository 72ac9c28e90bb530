#include "runtime/kernel_interface/shape_rules/matmul.h"

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(CheckUnrolledDimTest, IsOneOfTheBroadcastDimensions) {
  EXPECT_OK(CheckUnrolledDim(0, 4));
  EXPECT_OK(CheckUnrolledDim(3, 4));
  EXPECT_THAT(CheckUnrolledDim(4, 4), StatusIs(absl::StatusCode::kInvalidArgument,
                                               "unroll_dim: expected one of 4 dimensions, got 4"));
  EXPECT_THAT(CheckUnrolledDim(-1, 4), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ExpandedShapeTest, InsertsDimensionsAtPositions) {
  const auto expanded = [](const Sizes& sizes, const std::vector<int64_t>& places, int rank) {
    return ExpandedShape<D>(ToDims(sizes), places, rank);
  };
  EXPECT_EQ(*ToSizes(*expanded({2, 3}, {1}, 3)), Sizes({2, 1, 3}));
  EXPECT_EQ(*ToSizes(*expanded({2}, {0, 2}, 3)), Sizes({1, 2, 1}));
  EXPECT_THAT(expanded({2}, {0}, 3),
              StatusIs(kInvalid, "shape [2] with 1 new dimensions does not have rank 3"));
  EXPECT_THAT(expanded({2}, std::vector<int64_t>(kMaxRank, 0), kMaxRank + 1),
              StatusIs(kInvalid, HasSubstr("does not have rank 17")));
  for (const std::vector<int64_t>& places : {std::vector<int64_t>{1, 1}, {0, 3}, {-1, 0}}) {
    EXPECT_THAT(expanded({2}, places, 3),
                StatusIs(kInvalid, HasSubstr("repeats one or is out of")));
  }
}

ProductFactor Factor(TestArgument factor, DType dtype) {
  const TestCall call("self mat1 mat2 beta alpha", {Tensor({3, 3}, dtype), Tensor({3, 3}, dtype),
                                                    Tensor({3, 3}, dtype), 1, factor});
  return call.Read<ScaledSumCall<K, ProductForm::kMm>>()->alpha;
}

TEST(ProductFactorTest, MatchesKindOfOperands) {
  EXPECT_EQ(Factor(3, DType::kFloat32).number, std::complex<double>(3));
  EXPECT_TRUE(Factor(3, DType::kFloat32).is_int);
  EXPECT_EQ(Factor(2.5, DType::kFloat32).number, std::complex<double>(2.5));
  EXPECT_FALSE(Factor(2.5, DType::kFloat32).is_int);
  EXPECT_EQ(Factor(true, DType::kFloat32).number, std::complex<double>(1));
  EXPECT_EQ(Factor(false, DType::kFloat32).number, std::complex<double>(0));
  EXPECT_EQ(Factor(EValue(std::complex<double>(1, 2)), DType::kComplex64).number,
            std::complex<double>(1, 2));
  EXPECT_EQ(Factor(2.9, DType::kInt32).integer, 2);
  EXPECT_EQ(Factor(-2.9, DType::kInt64).integer, -2);
  EXPECT_EQ(Factor(INT64_MAX, DType::kInt64).integer, INT64_MAX);
  EXPECT_EQ(Factor(-255, DType::kUint8).integer, -255);
}

TEST(ProductFactorTest, FitsDTypeOfOperands) {
  const auto status = [](TestArgument factor, DType dtype) {
    return ReadStatus<ScaledSumCall<K, ProductForm::kMm>>(
        "self mat1 mat2 beta alpha",
        {Tensor({3, 3}, dtype), Tensor({3, 3}, dtype), Tensor({3, 3}, dtype), 1, factor});
  };
  EXPECT_THAT(status(EValue(std::complex<double>(1, 2)), DType::kFloat32),
              StatusIs(kInvalid, "argument 'alpha': expected a real number, got complex"));
  EXPECT_OK(status(EValue(std::complex<double>(1, 0)), DType::kFloat32));
  EXPECT_THAT(status(128, DType::kInt8), StatusIs(kInvalid, HasSubstr("out of range for")));
  EXPECT_OK(status(-128, DType::kInt8));
  EXPECT_THAT(status(-129, DType::kInt8), StatusIs(kInvalid, HasSubstr("out of range for")));
  EXPECT_THAT(status(-256, DType::kUint8), StatusIs(kInvalid));
  EXPECT_THAT(status(256, DType::kUint8), StatusIs(kInvalid));
  EXPECT_THAT(status(1e30, DType::kInt64), StatusIs(kInvalid));
}

absl::Status Grouped(const Sizes& self, const Sizes& mat2, TestArgument offsets,
                     TestArgument bias = None(), TestArgument dtype = None()) {
  return StatusOf(ShapeOf<GroupedProductCall<K>>(
      "self mat2 offs bias out_dtype", {Tensor(self), Tensor(mat2), offsets, bias, dtype}));
}

TEST(GroupedProductTest, MultipliesRowsByGroup) {
  const EValue ends = Tensor({2}, DType::kInt32);
  constexpr absl::StatusCode kMissing = absl::StatusCode::kUnimplemented;
  EXPECT_OK(Grouped({5, 3}, {2, 3, 4}, ends));
  EXPECT_OK(Grouped({5, 3}, {2, 3, 4}, ends, None(), DType::kFloat32));
  EXPECT_THAT(Grouped({5, 3}, {2, 3, 4}, None()), StatusIs(kMissing, HasSubstr("groups other")));
  EXPECT_THAT(Grouped({2, 5, 3}, {2, 3, 4}, ends), StatusIs(kMissing, HasSubstr("groups other")));
  EXPECT_THAT(Grouped({5, 3}, {3, 4}, ends), StatusIs(kMissing, HasSubstr("groups other")));
  EXPECT_THAT(Grouped({5, 3}, {2, 3, 4}, ends, Tensor({4})), StatusIs(kMissing, HasSubstr("bias")));
  EXPECT_THAT(Grouped({5, 3}, {2, 3, 4}, ends, None(), DType::kFloat64),
              StatusIs(kMissing, HasSubstr("another dtype")));
  EXPECT_THAT(Grouped({5, 3}, {2, 4, 4}, ends), StatusIs(kInvalid, HasSubstr("be multiplied")));
  EXPECT_THAT(Grouped({5, 3}, {3, 3, 4}, ends), StatusIs(kInvalid, HasSubstr("be multiplied")));
  EXPECT_THAT(Grouped({5, 3}, {2, 3, 4}, Tensor({2, 1}, DType::kInt32)),
              StatusIs(kInvalid, HasSubstr("be multiplied")));
}

TEST(TrilinearTest, SummedDimensionsMustExist) {
  const std::string names = "i1 i2 i3 expand1 expand2 expand3 sumdim unroll_dim";
  const EValue matrix = Tensor({3, 3});
  const auto status = [&](const std::vector<int64_t>& expand, const std::vector<int64_t>& sum,
                          int unroll) {
    return ReadStatus<TrilinearCall<K>>(
        names, {matrix, matrix, matrix, Ints(expand), Ints({}), Ints({}), Ints(sum), unroll});
  };
  EXPECT_OK(status({}, {1}, 0));
  EXPECT_THAT(status({}, {2}, 0), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("dim 2")));
  EXPECT_THAT(status({}, {1}, 2), StatusIs(kInvalid, HasSubstr("unroll_dim")));
  EXPECT_THAT(status(std::vector<int64_t>(kMaxRank, 0), {1}, 0),
              StatusIs(kInvalid, HasSubstr("rank 18")));
}

TEST(DistanceTest, ChecksOrderAndMode) {
  const EValue rows = Tensor({3, 4});
  EXPECT_THAT(ReadStatus<PdistCall<K>>("self p", {rows, -1.0}),
              StatusIs(kInvalid, "p: expected at least 0, got -1"));
  for (const int mode : {-1, 3}) {
    EXPECT_THAT(ReadStatus<CdistCall<K>>("x1 x2 p compute_mode", {rows, rows, 2.0, mode}),
                StatusIs(kInvalid, HasSubstr("compute_mode: expected 0, 1 or 2")));
  }
  EXPECT_OK(ReadStatus<CdistCall<K>>("x1 x2 p compute_mode", {rows, rows, 2.0, None()}));
}

TEST(MatMulShapeTest, UnknownBatchTakesTheOther) {
  ASSERT_OK_AND_ASSIGN(const Dims<D> shape,
                       MatMulShape<D>({Overflowed(), D(2), D(3)}, ToDims({5, 3, 4}), 1));
  EXPECT_EQ(shape[0], D(5));
}

}  // namespace
}  // namespace belay
