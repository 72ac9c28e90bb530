#include "runtime/kernel_interface/shape_rules/sort.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"
#include "runtime/kernel_interface/shape_rules/test_call.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(TopKTest, KIsAtMostTheSize) {
  const auto shape = [](const Dims<D>& dims, D k) { return TopKShape<D>(dims, 0, k); };
  EXPECT_EQ(*ToSizes(*shape(ToDims({5, 2}), 3)), Sizes({3, 2}));
  EXPECT_EQ(*ToSizes(*shape({}, 1)), Sizes());
  EXPECT_THAT(shape(ToDims({5}), 6), StatusIs(kInvalid, "k is 6, expected a number from 0 to 5"));
  EXPECT_THAT(shape(ToDims({5}), -1), StatusIs(kInvalid));
  EXPECT_FALSE((*shape(ToDims({5}), Overflowed()))[0].ok());
  EXPECT_OK(shape(Dims<D>{Overflowed()}, 6));
  EXPECT_THAT(shape(Dims<D>{Overflowed()}, -1), StatusIs(kInvalid));
}

TEST(KthValueTest, CountsFromOne) {
  const std::string names = "self k dim keepdim";
  EXPECT_OK(ShapeOf<KthValueCall<K>>(names, {Tensor({5}), 5, 0, true}));
  EXPECT_THAT(ShapeOf<KthValueCall<K>>(names, {Tensor({5}), 0, 0, true}),
              StatusIs(kInvalid, "k: expected at least 1, got 0"));
  EXPECT_THAT(ShapeOf<KthValueCall<K>>(names, {Tensor({5}), 6, 0, true}),
              StatusIs(kInvalid, HasSubstr("from 0 to 5")));
  EXPECT_THAT(ShapeOf<MedianCall<K>>("self dim keepdim", {Tensor({0}), 0, true}),
              StatusIs(kInvalid, HasSubstr("is reduced but has no elements")));
}

TEST(ReductionTest, NormDTypeIsAtLeastTheInputs) {
  EXPECT_OK(CheckNormDType(DType::kFloat16, DType::kFloat32));
  EXPECT_OK(CheckNormDType(DType::kComplex64, DType::kComplex128));
  EXPECT_THAT(CheckNormDType(DType::kFloat64, DType::kFloat32),
              StatusIs(kInvalid, "dtype: expected one that holds float64, got float32"));
  EXPECT_THAT(CheckNormDType(DType::kComplex64, DType::kFloat64), StatusIs(kInvalid));
  EXPECT_THAT(CheckNormDType(DType::kInt32, DType::kInt64), StatusIs(kInvalid));
}

}  // namespace
}  // namespace belay
