#include "runtime/core/sizes.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kBig = int64_t{1} << 62;

TEST(DimVectorTest, InsertAndEraseShift) {
  Sizes sizes = {2, 3, 4};
  sizes.erase(1);
  EXPECT_THAT(sizes, ElementsAre(2, 4));
  sizes.insert(0, 7);
  sizes.insert(3, 8);
  EXPECT_THAT(sizes, ElementsAre(7, 2, 4, 8));
  EXPECT_EQ(sizes.back(), 8);
  EXPECT_EQ(sizes, Sizes({7, 2, 4, 8}));
  EXPECT_FALSE(sizes == Sizes({7, 2, 4}));
}

TEST(DimVectorTest, TryFromRejectsTooManyDimensions) {
  EXPECT_TRUE(Sizes::TryFrom(std::vector<int64_t>(kMaxRank, 1)).has_value());
  EXPECT_EQ(Sizes::TryFrom(std::vector<int64_t>(kMaxRank + 1, 1)), std::nullopt);
}

TEST(NumElementsTest, IsTheProduct) {
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({2, 3, 4}), 24);
  EXPECT_EQ(NumElements({2, 0, 4}), 0);
  EXPECT_EQ(NumElements({kBig, 1}), kBig);
}

TEST(NumElementsTest, RejectsNegativeSizesAndOverflow) {
  EXPECT_EQ(NumElements({-1}), std::nullopt);
  EXPECT_EQ(NumElements({0, -1}), std::nullopt);
  EXPECT_EQ(NumElements({-2, -2}), std::nullopt);
  EXPECT_EQ(NumElements({kBig, 2}), std::nullopt);
  EXPECT_EQ(NumElements({int64_t{1} << 32, int64_t{1} << 32}), std::nullopt);
  // Strides would overflow although the tensor is empty, wherever the 0 is.
  EXPECT_EQ(NumElements({0, kBig, kBig}), std::nullopt);
  EXPECT_EQ(NumElements({kBig, kBig, 0}), std::nullopt);
}

TEST(DenseStridesTest, FollowTheOrder) {
  EXPECT_THAT(ContiguousStrides({2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(ContiguousStrides({}), ElementsAre());
  EXPECT_THAT(DenseStrides({2, 3, 4, 5}, ChannelsLastOrder(4)), ElementsAre(60, 1, 15, 3));
  EXPECT_THAT(DenseStrides({2, 3}, DimOrder({1, 0})), ElementsAre(1, 2));
}

TEST(DenseStridesTest, CountZeroAsOne) {
  EXPECT_THAT(ContiguousStrides({2, 0, 4}), ElementsAre(4, 4, 1));
}

TEST(ChannelsLastOrderTest, ExistsForRankFourAndFive) {
  EXPECT_THAT(ChannelsLastOrder(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(ChannelsLastOrder(4), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(ChannelsLastOrder(5), ElementsAre(0, 2, 3, 4, 1));
}

TEST(IsPermutationTest, RejectsRepeatedAndOutOfRangeDimensions) {
  EXPECT_TRUE(IsPermutation({}));
  EXPECT_TRUE(IsPermutation(DimOrder({2, 0, 1})));
  EXPECT_FALSE(IsPermutation(DimOrder({0, 0, 0})));
  EXPECT_FALSE(IsPermutation(DimOrder({0, 1, 3})));
  EXPECT_FALSE(IsPermutation(DimOrder({255})));
  EXPECT_FALSE(IsPermutation(std::vector<uint8_t>(300, 0)));
  std::vector<uint8_t> seventeen(17);
  std::iota(seventeen.begin(), seventeen.end(), uint8_t{0});
  EXPECT_FALSE(IsPermutation(seventeen));  // beyond kMaxRank
}

TEST(IsContiguousTest, IgnoresStridesOfSizeOne) {
  EXPECT_TRUE(IsContiguous({2, 1, 3}, {3, 77, 1}));
  EXPECT_TRUE(IsContiguous({}, {}));
  EXPECT_TRUE(IsContiguous({0, 3}, {7, 9}));
  EXPECT_FALSE(IsContiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(IsContiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(IsContiguous({2, 3}, {0, 1}));
  EXPECT_FALSE(IsContiguous({2, 3}, {1}));
  constexpr int64_t kHalf = int64_t{1} << 32;
  EXPECT_FALSE(IsContiguous({kHalf, kHalf}, {kHalf, 1}));  // the number of elements overflows
}

TEST(IsDenseTest, AcceptsAnyOrderWithoutGapsOrRepeats) {
  EXPECT_TRUE(IsDense({2, 3, 4, 5}, {60, 1, 15, 3}));
  EXPECT_TRUE(IsDense({2, 3}, {1, 2}));
  EXPECT_TRUE(IsDense({}, {}));
  EXPECT_TRUE(IsDense({1, 3}, {0, 1}));
  EXPECT_TRUE(IsDense({0, 3}, {0, 0}));
  EXPECT_FALSE(IsDense({2, 3}, {4, 1}));
  EXPECT_FALSE(IsDense({2, 3}, {1}));
  EXPECT_FALSE(IsDense({0, 3}, {1}));
  EXPECT_FALSE(IsDense({2, 3}, {0, 1}));
  EXPECT_FALSE(IsDense({2, 2}, {1, 1}));
  EXPECT_FALSE(IsDense({kBig, kBig}, {1, 1}));
  EXPECT_FALSE(IsDense(std::vector<int64_t>(17, 1), std::vector<int64_t>(17, 1)));
}

TEST(DimOrderOfTest, SortsByDescendingStrideAndKeepsTies) {
  EXPECT_THAT(*DimOrderOf({2, 3, 4, 5}, {60, 1, 15, 3}), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(*DimOrderOf({2, 1, 1}, {1, 1, 1}), ElementsAre(0, 1, 2));
  EXPECT_THAT(*DimOrderOf({1, 3}, {0, 1}), ElementsAre(1, 0));
  EXPECT_THAT(*DimOrderOf({}, {}), ElementsAre());
}

TEST(DimOrderOfTest, RepeatedElementsHaveNoOrder) {
  EXPECT_EQ(DimOrderOf({2, 3}, {0, 1}), std::nullopt);
  EXPECT_EQ(DimOrderOf({2, 3}, {1}), std::nullopt);
}

TEST(DimOrderOfTest, TooManyDimensionsHaveNoOrder) {
  const std::vector<int64_t> ones(kMaxRank + 1, 1);
  EXPECT_EQ(DimOrderOf(ones, ones), std::nullopt);
}

TEST(DimOrderOfTest, DenseStridesRoundTrip) {
  const DimOrder order = {2, 0, 3, 1};
  const Sizes sizes = {2, 3, 4, 5};
  EXPECT_EQ(DimOrderOf(sizes, DenseStrides(sizes, order)), order);
}

TEST(FormatSizesTest, IsAList) {
  EXPECT_EQ(FormatSizes({}), "[]");
  EXPECT_EQ(FormatSizes({2, -3}), "[2,-3]");
}

}  // namespace
}  // namespace belay
