#include "runtime/kernel_interface/shape_rules/creation.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(CreationTest, RejectsNegativeSizesAndStrides) {
  EXPECT_THAT(ReadStatus<SizedCall<K>>("size dtype", {Ints({2, -1}), None()}),
              StatusIs(kInvalid, HasSubstr("'size': size -1 at dimension 1")));
  EXPECT_OK(
      ReadStatus<EmptyStridedCall<K>>("size stride dtype", {Ints({2, 3}), Ints({0, 1}), None()}));
  EXPECT_THAT(
      ReadStatus<EmptyStridedCall<K>>("size stride dtype", {Ints({2, 3}), Ints({3, -1}), None()}),
      StatusIs(kInvalid, HasSubstr("'stride': stride -1")));
  EXPECT_THAT(
      ReadStatus<EmptyStridedCall<K>>("size stride dtype", {Ints({2, 3}), Ints({1}), None()}),
      StatusIs(kInvalid, HasSubstr("'stride': expected 2 strides, got 1")));
  EXPECT_THAT(ReadStatus<RandpermCall<K>>("n dtype", {-1, None()}),
              StatusIs(kInvalid, HasSubstr("'n': a size of -1")));
}

TEST(CreationTest, ArangeTakesRealScalars) {
  const auto dtype = [](TestArgument end, TestArgument dtype) -> absl::StatusOr<DType> {
    const TestCall call("end dtype", {end, dtype});
    ABSL_ASSIGN_OR_RETURN(const ArangeCall<K> read, call.Read<ArangeCall<K>>());
    return read.dtype;
  };
  EXPECT_EQ(*dtype(5, None()), DType::kInt64);
  EXPECT_EQ(*dtype(5.0, None()), DType::kFloat32);
  EXPECT_EQ(*dtype(5, DType::kFloat16), DType::kFloat16);
  for (const DType refused : {DType::kBool, DType::kComplex64}) {
    EXPECT_THAT(dtype(5, refused), StatusIs(kInvalid, HasSubstr("is not supported")));
  }
}

TEST(CreationTest, RandomDTypesAreChecked) {
  EXPECT_THAT(ReadStatus<RandomCall<SizedCall<K>>>("size dtype", {Ints({2}), DType::kInt64}),
              StatusIs(kInvalid, HasSubstr("dtype int64 is not supported")));
  EXPECT_THAT(ReadStatus<RandpermCall<K>>("n dtype", {3, DType::kBool}),
              StatusIs(kInvalid, HasSubstr("dtype bool is not supported")));
}

TEST(CreationTest, FillValueHasRankZero) {
  EXPECT_OK(ReadStatus<FillCall<K>>("self value", {Tensor({3}), Tensor({})}));
  EXPECT_THAT(ReadStatus<FillCall<K>>("self value", {Tensor({3}), Tensor({1})}),
              StatusIs(kInvalid, HasSubstr("a tensor without dimensions, got 1 dimensions")));
}

}  // namespace
}  // namespace belay
