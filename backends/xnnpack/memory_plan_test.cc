#include "backends/xnnpack/memory_plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::xnnpack {
namespace {

using ::testing::ElementsAre;

TEST(PlanMemoryTest, ReusesSlots) {
  // The third reuses the slot of the first; the fourth grows it.
  const auto plan = PlanMemory({{1, 2, 100}, {2, 3, 50}, {3, 4, 100}, {5, 5, 300}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->offsets, ElementsAre(0, 320, 0, 0));
  EXPECT_EQ(plan->bytes, 384u);
}

TEST(PlanMemoryTest, SelectsTheSmallestSufficientSlot) {
  const auto plan = PlanMemory({{1, 1, 64}, {1, 1, 256}, {1, 1, 128}, {2, 2, 100}, {2, 2, 10}});
  ASSERT_TRUE(plan.has_value());
  EXPECT_THAT(plan->offsets, ElementsAre(0, 64, 320, 320, 0));
  EXPECT_EQ(plan->bytes, 448u);
}

TEST(PlanMemoryTest, DetectsOverflow) {
  EXPECT_FALSE(PlanMemory({{1, 1, UINT64_MAX / 2}, {1, 1, UINT64_MAX / 2 + 2}}).has_value());
  EXPECT_FALSE(PlanMemory({{1, 1, UINT64_MAX}}).has_value());
}

}  // namespace
}  // namespace belay::xnnpack
