#include "exir/quantize/distribution.h"

#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

TEST(DistributionTest, CoversAllElements) {
  const Distribution result = DistributionOf({-1, 0, 0, 2.9F}, {-1, 0, 0, 3});
  EXPECT_EQ(result.low, -1);
  EXPECT_EQ(result.high, 3);
  EXPECT_EQ(result.before.size(), Distribution::kBins);
  EXPECT_EQ(result.before[0], 1);
  EXPECT_EQ(result.before[16], 2);
  EXPECT_EQ(result.before[62], 1);
  EXPECT_EQ(result.after[63], 1);
  EXPECT_EQ(std::accumulate(result.after.begin(), result.after.end(), uint64_t{0}), 4);
}

TEST(DistributionTest, EqualElementsAreInTheFirstBin) {
  const Distribution result = DistributionOf({5, 5}, {5, 5});
  EXPECT_EQ(result.before[0], 2);
}

TEST(DistributionTest, LargeRangesDoNotOverflow) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const Distribution result = DistributionOf({-kMost, kMost}, {-kMost, kMost});
  EXPECT_EQ(result.before[0], 1);
  EXPECT_EQ(result.before[63], 1);
}

TEST(DistributionTest, NoElementsHaveNone) { EXPECT_TRUE(DistributionOf({}, {}).empty()); }

}  // namespace
}  // namespace belay::exir
