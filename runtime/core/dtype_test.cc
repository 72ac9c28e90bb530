#include "runtime/core/dtype.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

std::vector<DType> AllDTypes() {
  std::vector<DType> types;
  for (int i = 1; i < kNumDTypes; ++i) types.push_back(static_cast<DType>(i));
  return types;
}

TEST(DTypeTest, Pt2NumbersMatchSchema) {
  EXPECT_EQ(DTypeFromPt2({1}), DType::kUint8);
  EXPECT_EQ(DTypeFromPt2({7}), DType::kFloat32);
  EXPECT_EQ(DTypeFromPt2({12}), DType::kBool);
  EXPECT_EQ(DTypeFromPt2({13}), DType::kBFloat16);
  EXPECT_EQ(DTypeFromPt2({28}), DType::kUint16);
  EXPECT_EQ(DTypeFromPt2({29}), DType::kFloat8E4M3FN);
  EXPECT_EQ(DTypeFromPt2({30}), DType::kFloat8E5M2);
  EXPECT_EQ(DTypeFromPt2({31}), DType::kFloat8E4M3FNUZ);
  EXPECT_EQ(DTypeFromPt2({32}), DType::kFloat8E5M2FNUZ);
  EXPECT_EQ(DTypeFromPt2({33}), DType::kFloat8E8M0FNU);
  EXPECT_EQ(DTypeFromPt2({34}), DType::kUint32);
  EXPECT_EQ(DTypeFromPt2({35}), DType::kUint64);
}

TEST(DTypeTest, C10NumbersMatchScalarType) {
  EXPECT_EQ(DTypeFromC10({0}), DType::kUint8);
  EXPECT_EQ(DTypeFromC10({6}), DType::kFloat32);
  EXPECT_EQ(DTypeFromC10({11}), DType::kBool);
  EXPECT_EQ(DTypeFromC10({15}), DType::kBFloat16);
  EXPECT_EQ(DTypeFromC10({23}), DType::kFloat8E5M2);
  EXPECT_EQ(DTypeFromC10({24}), DType::kFloat8E4M3FN);
  EXPECT_EQ(DTypeFromC10({25}), DType::kFloat8E5M2FNUZ);
  EXPECT_EQ(DTypeFromC10({26}), DType::kFloat8E4M3FNUZ);
  EXPECT_EQ(DTypeFromC10({27}), DType::kUint16);
  EXPECT_EQ(DTypeFromC10({44}), DType::kFloat8E8M0FNU);
}

TEST(DTypeTest, UnknownNumbersAreNullopt) {
  for (int64_t v : {int64_t{-1}, int64_t{0}, int64_t{14}, int64_t{36}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(DTypeFromPt2({v}), std::nullopt) << v;
  }
  // 12 to 14 are quantized types, 16 is an unused width.
  for (int64_t v : {int64_t{-1}, int64_t{12}, int64_t{14}, int64_t{16}, int64_t{45}, INT64_MIN}) {
    EXPECT_EQ(DTypeFromC10({v}), std::nullopt) << v;
  }
  for (uint32_t v : {0u, 22u, 256u + 7u, UINT32_MAX}) {
    EXPECT_EQ(DTypeFromProgramFile(v), std::nullopt) << v;
  }
}

TEST(DTypeTest, NumbersAndNamesRoundTrip) {
  for (DType t : AllDTypes()) {
    EXPECT_EQ(DTypeFromPt2(*DTypeToPt2(t)), t);
    EXPECT_EQ(DTypeFromC10(*DTypeToC10(t)), t);
    EXPECT_EQ(DTypeFromProgramFile(static_cast<uint32_t>(t)), t);
    EXPECT_EQ(DTypeFromName(DTypeName(t)), t);
    EXPECT_EQ(DTypeFromShortName(DTypeShortName(t)), t);
  }
}

TEST(DTypeTest, InvalidTypeHasNoNumberNameOrSize) {
  EXPECT_EQ(DTypeFromName("invalid"), std::nullopt);
  EXPECT_EQ(DTypeFromName(""), std::nullopt);
  EXPECT_EQ(DTypeFromName("f32"), std::nullopt);
  EXPECT_EQ(DTypeFromShortName("float32"), std::nullopt);
  for (const DType bad : {static_cast<DType>(0), static_cast<DType>(22), static_cast<DType>(255)}) {
    EXPECT_EQ(DTypeName(bad), "invalid");
    EXPECT_EQ(DTypeSize(bad), 0u);
    EXPECT_FALSE(DTypeToPt2(bad).has_value());
    EXPECT_FALSE(DTypeToC10(bad).has_value());
  }
}

TEST(DTypeTest, SizesAndNames) {
  EXPECT_EQ(DTypeSize(DType::kBool), 1u);
  EXPECT_EQ(DTypeSize(DType::kBFloat16), 2u);
  EXPECT_EQ(DTypeSize(DType::kComplex32), 4u);
  EXPECT_EQ(DTypeSize(DType::kComplex128), 16u);
  EXPECT_EQ(DTypeSize(DType::kFloat8E8M0FNU), 1u);
  EXPECT_EQ(DTypeName(DType::kFloat8E4M3FN), "float8_e4m3fn");
  EXPECT_EQ(DTypeShortName(DType::kFloat8E4M3FN), "f8e4m3fn");
  EXPECT_EQ(DTypeShortName(DType::kBool), "b8");
}

TEST(DTypeTest, CategoriesPartitionTheTypes) {
  for (DType t : AllDTypes()) {
    EXPECT_EQ(IsFloatingPoint(t) + IsComplex(t) + IsIntegral(t, /*include_bool=*/true), 1)
        << DTypeName(t);
    EXPECT_TRUE(kAllTypes.contains(t)) << DTypeName(t);
    EXPECT_EQ(RealPart(t) == t, !IsComplex(t)) << DTypeName(t);
  }
  EXPECT_FALSE(IsIntegral(DType::kBool, /*include_bool=*/false));
  EXPECT_EQ(RealPart(DType::kComplex32), DType::kFloat16);
  EXPECT_EQ(RealPart(DType::kComplex128), DType::kFloat64);
}

TEST(DTypeSetTest, ContainsItsElements) {
  EXPECT_TRUE(kFloatTypes.contains(DType::kBFloat16));
  EXPECT_FALSE(kFloatTypes.contains(DType::kBool));
  EXPECT_TRUE((kFloatTypes & kIntegralTypes).empty());
  EXPECT_EQ(kRealTypes & kFloatTypes, kFloatTypes);
}

// PyTorch's promotion graph: a type converts to its successors, and two types promote to the
// smallest type reachable from both.
bool Reaches(DType from, DType to) {
  static const std::vector<std::pair<DType, DType>>& edges =
      *new std::vector<std::pair<DType, DType>>{
          {DType::kBool, DType::kUint8},          {DType::kBool, DType::kInt8},
          {DType::kUint8, DType::kInt16},         {DType::kInt8, DType::kInt16},
          {DType::kInt16, DType::kInt32},         {DType::kInt32, DType::kInt64},
          {DType::kInt64, DType::kFloat16},       {DType::kInt64, DType::kBFloat16},
          {DType::kFloat16, DType::kFloat32},     {DType::kBFloat16, DType::kFloat32},
          {DType::kFloat32, DType::kFloat64},     {DType::kFloat16, DType::kComplex32},
          {DType::kFloat32, DType::kComplex64},   {DType::kFloat64, DType::kComplex128},
          {DType::kComplex32, DType::kComplex64}, {DType::kComplex64, DType::kComplex128},
      };
  if (from == to) return true;
  for (const auto& [a, b] : edges) {
    if (a == from && Reaches(b, to)) return true;
  }
  return false;
}

TEST(PromoteTypesTest, IsLeastCommonType) {
  const DTypeSet promoting = kRealTypes | kComplexTypes | DTypeSet{DType::kComplex32};
  for (DType a : AllDTypes()) {
    for (DType b : AllDTypes()) {
      if (!promoting.contains(a) || !promoting.contains(b)) continue;
      const std::optional<DType> p = PromoteTypes(a, b);
      ASSERT_TRUE(p.has_value()) << DTypeName(a) << " " << DTypeName(b);
      EXPECT_TRUE(Reaches(a, *p) && Reaches(b, *p)) << DTypeName(a) << " " << DTypeName(b);
      for (DType other : AllDTypes()) {
        if (Reaches(a, other) && Reaches(b, other)) {
          EXPECT_TRUE(Reaches(*p, other))
              << DTypeName(a) << " " << DTypeName(b) << " " << DTypeName(other);
        }
      }
    }
  }
}

TEST(PromoteTypesTest, IsSymmetricAndKeepsEqualTypes) {
  for (DType a : AllDTypes()) {
    EXPECT_EQ(PromoteTypes(a, a), a);
    for (DType b : AllDTypes()) EXPECT_EQ(PromoteTypes(a, b), PromoteTypes(b, a));
  }
}

TEST(PromoteTypesTest, WellKnownPairs) {
  EXPECT_EQ(PromoteTypes(DType::kUint8, DType::kInt8), DType::kInt16);
  EXPECT_EQ(PromoteTypes(DType::kFloat16, DType::kBFloat16), DType::kFloat32);
  EXPECT_EQ(PromoteTypes(DType::kInt64, DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(PromoteTypes(DType::kFloat16, DType::kComplex64), DType::kComplex64);
  EXPECT_EQ(PromoteTypes(DType::kFloat64, DType::kComplex64), DType::kComplex128);
  EXPECT_EQ(PromoteTypes(DType::kBFloat16, DType::kComplex32), DType::kComplex64);
}

TEST(PromoteTypesTest, WideUnsignedTypesPromoteWithFloatingTypesOnly) {
  for (DType u : {DType::kUint16, DType::kUint32, DType::kUint64}) {
    EXPECT_EQ(PromoteTypes(u, DType::kBool), std::nullopt);
    EXPECT_EQ(PromoteTypes(u, DType::kFloat16), DType::kFloat16);
    EXPECT_EQ(PromoteTypes(DType::kComplex64, u), std::nullopt);
    EXPECT_EQ(PromoteTypes(u, DType::kUint8), std::nullopt);
    EXPECT_EQ(PromoteTypes(DType::kInt64, u), std::nullopt);
  }
  EXPECT_EQ(PromoteTypes(DType::kUint16, DType::kUint32), std::nullopt);
}

TEST(PromoteTypesTest, InvalidTypeDoesNotPromote) {
  EXPECT_EQ(PromoteTypes(DType(), DType::kFloat32), std::nullopt);
  EXPECT_EQ(PromoteTypes(DType::kFloat32, DType()), std::nullopt);
}

TEST(PromoteTypesTest, Float8PromotesWithItselfOnly) {
  EXPECT_EQ(PromoteTypes(DType::kFloat8E5M2, DType::kFloat32), std::nullopt);
  EXPECT_EQ(PromoteTypes(DType::kBool, DType::kFloat8E5M2), std::nullopt);
  EXPECT_EQ(PromoteTypes(DType::kUint16, DType::kFloat8E5M2), std::nullopt);
  EXPECT_EQ(PromoteTypes(DType::kFloat8E4M3FN, DType::kFloat8E5M2), std::nullopt);
}

}  // namespace
}  // namespace belay
