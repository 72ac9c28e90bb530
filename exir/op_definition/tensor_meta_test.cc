#include "exir/op_definition/tensor_meta.h"

#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

SymInt S(std::string_view name) { return SymExpr::Symbol(name); }

TEST(TensorMetaTest, ContiguousStridesAreProductsOfTheInnerSizes) {
  const TensorMeta t = TensorMeta::Contiguous(DType::kFloat32, {S("s0"), 3, S("s1")});
  EXPECT_EQ(t.strides, (std::vector<SymInt>{S("s1") * 3, S("s1"), 1}));
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_FALSE(t.is_static());
  EXPECT_EQ(t.NumElements(), S("s0") * S("s1") * 3);
  EXPECT_EQ(TensorMeta::Contiguous(DType::kFloat32, {2, 0, 3}).strides,
            (std::vector<SymInt>{3, 3, 1}));
}

TEST(TensorMetaTest, AsIntsNeedsNumbersOfASupportedRank) {
  EXPECT_EQ(AsInts({2, 0, 3}), (Sizes{2, 0, 3}));
  EXPECT_EQ(AsInts({}), Sizes{});
  EXPECT_EQ(AsInts({2, S("s0")}), std::nullopt);
  EXPECT_TRUE(AsInts(std::vector<SymInt>(kMaxRank, 1)).has_value());
  EXPECT_EQ(AsInts(std::vector<SymInt>(kMaxRank + 1, 1)), std::nullopt);
}

TEST(TensorMetaTest, DenseFollowsTheOrder) {
  const uint8_t channels_last[] = {0, 2, 3, 1};
  const TensorMeta t = TensorMeta::Dense(DType::kFloat32, {2, 3, 4, S("w")}, channels_last);
  EXPECT_EQ(t.strides, (std::vector<SymInt>{S("w") * 12, 1, S("w") * 3, 3}));
  EXPECT_FALSE(t.is_contiguous());
}

TEST(TensorMetaTest, StridesOfSingleElementsDoNotCount) {
  TensorMeta t = TensorMeta::Contiguous(DType::kFloat32, {2, 1, 3});
  t.strides[1] = 77;
  EXPECT_TRUE(t.is_contiguous());
  t.strides[0] = 4;
  EXPECT_FALSE(t.is_contiguous());
  t.sizes[2] = 0;
  EXPECT_TRUE(t.is_contiguous());
}

TEST(TensorMetaTest, DimOrderSortsStridesAndTiesByPosition) {
  const uint8_t channels_last[] = {0, 2, 3, 1};
  ASSERT_OK_AND_ASSIGN(DimOrder order,
                       DimOrderOf(TensorMeta::Dense(
                           DType::kFloat32, {S("n"), S("c"), S("h"), S("w")}, channels_last)));
  EXPECT_EQ(order, (DimOrder{0, 2, 3, 1}));
  ASSERT_OK_AND_ASSIGN(order, DimOrderOf(TensorMeta::Contiguous(DType::kFloat32, {1, 1, 1})));
  EXPECT_EQ(order, (DimOrder{0, 1, 2}));
  std::vector<SymInt> many;
  for (int i = 0; i < 12; ++i) many.push_back(S("s" + std::to_string(i)));
  ASSERT_OK_AND_ASSIGN(order, DimOrderOf(TensorMeta::Contiguous(DType::kFloat32, many)));
  EXPECT_EQ(order[0], 0);
  EXPECT_EQ(order[11], 11);
}

TEST(TensorMetaTest, ExpandedTensorsHaveNoDimOrder) {
  TensorMeta t = TensorMeta::Contiguous(DType::kFloat32, {4, 3});
  t.strides[0] = 0;
  EXPECT_THAT(DimOrderOf(t),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("stride 0")));
  t.sizes[0] = 1;
  EXPECT_OK(DimOrderOf(t));
}

TEST(TensorMetaTest, NumberOfStridesMustMatchSizes) {
  TensorMeta t = TensorMeta::Contiguous(DType::kFloat32, {4, 3});
  t.strides.pop_back();
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_THAT(DimOrderOf(t), StatusIs(absl::StatusCode::kInvalidArgument,
                                      ::testing::HasSubstr("with 2 sizes and 1 strides")));
  EXPECT_THAT(DimOrderOf(TensorMeta::Contiguous(DType::kFloat32, std::vector<SymInt>(17, 1))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("17 sizes and 17 strides: expected as many, at most")));
}

TEST(TensorMetaTest, RejectsUncomputableStrides) {
  TensorMeta t = TensorMeta::Contiguous(DType::kFloat32, {4, 3});
  t.strides[0] = SymExpr::Function("Mystery", {S("s0")});
  EXPECT_THAT(DimOrderOf(t), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace belay::exir
