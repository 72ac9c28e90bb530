#include "runtime/kernel_interface/type_promotion.h"

#include <complex>

#include "runtime/core/testing.h"
#include "runtime/kernel_interface/promotion_rules.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(TypePromotionTest, TensorsOfOnePriorityPromoteAsTypes) {
  TypePromotion p;
  p.AddTensor(DType::kUint8, 2);
  p.AddTensor(DType::kInt8, 1);
  ASSERT_OK_AND_ASSIGN(const DType type, p.Result());
  EXPECT_EQ(type, DType::kInt16);
}

TEST(TypePromotionTest, RankZeroTensorCountsOnlyByHigherCategory) {
  TypePromotion same;
  same.AddTensor(DType::kInt8, 1);
  same.AddTensor(DType::kInt64, 0);
  EXPECT_EQ(*same.Result(), DType::kInt8);
  TypePromotion higher;
  higher.AddTensor(DType::kInt64, 1);
  higher.AddTensor(DType::kFloat16, 0);
  EXPECT_EQ(*higher.Result(), DType::kFloat16);
  TypePromotion boolean;
  boolean.AddTensor(DType::kBool, 1);
  boolean.AddTensor(DType::kInt32, 0);
  EXPECT_EQ(*boolean.Result(), DType::kInt32);
}

TEST(TypePromotionTest, ScalarCountsLessThanRankZeroTensor) {
  TypePromotion p;
  p.AddTensor(DType::kFloat16, 0);
  p.AddScalar(DType::kFloat32);
  EXPECT_EQ(*p.Result(), DType::kFloat16);
  p.AddScalar(DType::kComplex64);
  EXPECT_EQ(*p.Result(), DType::kComplex32);
  TypePromotion integer;
  integer.AddTensor(DType::kInt8, 3);
  integer.AddScalar(DType::kFloat32);
  EXPECT_EQ(*integer.Result(), DType::kFloat32);
}

TEST(TypePromotionTest, ComplexScalarKeepsPrecisionOfTensor) {
  TypePromotion p;
  p.AddTensor(DType::kFloat64, 1);
  p.AddScalar(DType::kComplex64);
  EXPECT_EQ(*p.Result(), DType::kComplex128);
}

TEST(TypePromotionTest, WideUnsignedTensorOnlyTakesComplexOfLowerPriority) {
  TypePromotion number;
  number.AddTensor(DType::kUint16, 1);
  number.AddScalar(DType::kComplex64);
  EXPECT_EQ(*number.Result(), DType::kComplex64);
  TypePromotion tensor;
  tensor.AddTensor(DType::kUint16, 1);
  tensor.AddTensor(DType::kComplex64, 1);
  EXPECT_THAT(tensor.Result(), StatusIs(absl::StatusCode::kInvalidArgument));
  TypePromotion mask;
  mask.AddTensor(DType::kBool, 1);
  mask.AddTensor(DType::kUint16, 0);
  EXPECT_THAT(mask.Result(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TypePromotionTest, TypesWithoutCommonTypeAreNamed) {
  TypePromotion p;
  p.AddTensor(DType::kUint16, 1);
  p.AddTensor(DType::kInt32, 1);
  EXPECT_THAT(p.Result(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("uint16 and int32")));
  EXPECT_THAT(TypePromotion().Result(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TypePromotionTest, RuleErrorNamesSupportedTypes) {
  TypePromotion p;
  p.AddTensor(DType::kInt32, 1);
  EXPECT_THAT(
      Promote(kFloatOnlyRule, p),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          "dtype int32 is not supported, expected one of float16, float32, float64, bfloat16"));
  ASSERT_OK_AND_ASSIGN(const PromotedTypes types, Promote(kToFloatRule, p));
  EXPECT_EQ(types.compute, DType::kFloat32);
  EXPECT_EQ(types.result, DType::kFloat32);
}

TEST(TypePromotionTest, ComplexScalarsWithHalfPrecision) {
  TypePromotion half;
  half.AddTensor(DType::kFloat16, 1);
  half.AddTensor(DType::kComplex128, 0);
  EXPECT_EQ(*half.Result(), DType::kComplex32);
  TypePromotion bfloat;
  bfloat.AddTensor(DType::kBFloat16, 1);
  bfloat.AddScalar(DType::kComplex64);
  EXPECT_EQ(*bfloat.Result(), DType::kComplex64);
  TypePromotion complex;
  complex.AddTensor(DType::kComplex64, 1);
  complex.AddTensor(DType::kComplex128, 0);
  EXPECT_EQ(*complex.Result(), DType::kComplex64);
}

TEST(TypePromotionTest, BoolTensorsTakeCategoryOfLowerPriority) {
  TypePromotion integer;
  integer.AddTensor(DType::kBool, 1);
  integer.AddScalar(DType::kInt64);
  EXPECT_EQ(*integer.Result(), DType::kInt64);
  TypePromotion wide;
  wide.AddTensor(DType::kUint16, 1);
  wide.AddScalar(DType::kFloat32);
  EXPECT_EQ(*wide.Result(), DType::kFloat32);
  TypePromotion complex;
  complex.AddTensor(DType::kInt32, 1);
  complex.AddScalar(DType::kComplex64);
  EXPECT_EQ(*complex.Result(), DType::kComplex64);
}

TEST(TypePromotionTest, ReportsFirstConflict) {
  TypePromotion p;
  p.AddTensor(DType::kUint16, 1);
  p.AddTensor(DType::kInt32, 1);
  p.AddTensor(DType::kInt64, 1);
  p.AddTensor(DType::kUint16, 1);
  EXPECT_THAT(p.Result(), StatusIs(absl::StatusCode::kInvalidArgument,
                                   "dtypes uint16 and int32 have no common dtype"));
  EXPECT_THAT(Promote(kAnyRule, p), StatusIs(absl::StatusCode::kInvalidArgument));
  TypePromotion lower;  // of a scalar and rank-0 tensors
  lower.AddTensor(DType::kFloat8E5M2, 0);
  lower.AddTensor(DType::kFloat32, 0);
  EXPECT_THAT(lower.Result(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TypePromotionTest, RulesDeriveResultFromCommonDType) {
  const auto expect = [](const PromotionRule& rule, DType operand, DType compute, DType result) {
    TypePromotion p;
    p.AddTensor(operand, 1);
    ASSERT_OK_AND_ASSIGN(const PromotedTypes types, Promote(rule, p));
    EXPECT_EQ(types.compute, compute);
    EXPECT_EQ(types.result, result);
  };
  expect(kAnyRule, DType::kInt8, DType::kInt8, DType::kInt8);
  expect(kToFloatRule, DType::kFloat64, DType::kFloat64, DType::kFloat64);
  expect(kToFloatRule, DType::kBool, DType::kFloat32, DType::kFloat32);
  expect(kAnyToBoolRule, DType::kComplex64, DType::kComplex64, DType::kBool);
  expect(kMagnitudeRule, DType::kComplex128, DType::kComplex128, DType::kFloat64);
  expect(kMagnitudeRule, DType::kInt32, DType::kInt32, DType::kInt32);
}

TEST(TypePromotionTest, ScalarCategories) {
  EXPECT_EQ(ScalarCategory(EValue(int64_t{1})), DType::kInt64);
  EXPECT_EQ(ScalarCategory(EValue(1.0)), DType::kFloat32);
  EXPECT_EQ(ScalarCategory(EValue(true)), DType::kBool);
  EXPECT_EQ(ScalarCategory(EValue(std::complex<double>(1, 2))), DType::kComplex64);
  EXPECT_EQ(ScalarCategory(EValue()), std::nullopt);
}

}  // namespace
}  // namespace belay
