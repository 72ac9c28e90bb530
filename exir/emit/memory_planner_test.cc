#include "exir/emit/memory_planner.h"

#include <random>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

void ExpectValid(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0u);
    EXPECT_LE(plan.offsets[i] + lifetimes[i].bytes, plan.arena_bytes);
    for (size_t k = 0; k < i; ++k) {
      const bool together =
          lifetimes[i].first <= lifetimes[k].last && lifetimes[k].first <= lifetimes[i].last;
      const bool apart = plan.offsets[i] + lifetimes[i].bytes <= plan.offsets[k] ||
                         plan.offsets[k] + lifetimes[k].bytes <= plan.offsets[i];
      EXPECT_TRUE(!together || apart) << "tensors " << i << " and " << k;
    }
  }
}

TEST(MemoryPlannerTest, EmptyInputGivesEmptyPlan) {
  EXPECT_EQ(PlanMemory({}).arena_bytes, 0u);
  EXPECT_EQ(MemoryLowerBound({}), 0u);
}

TEST(MemoryPlannerTest, ReusesMemoryOfDeadTensors) {
  const std::vector<Lifetime> chain = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  const MemoryPlan plan = PlanMemory(chain);
  ExpectValid(chain, plan);
  EXPECT_EQ(plan.arena_bytes, 128u);
}

TEST(MemoryPlannerTest, RoundsSizesUpToTheAlignment) {
  const std::vector<Lifetime> two = {{1, 0, 0}, {65, 0, 0}};
  EXPECT_EQ(MemoryLowerBound(two), 64u + 128u);
  EXPECT_EQ(PlanMemory(two).arena_bytes, 64u + 128u);
}

TEST(MemoryPlannerTest, UsesSmallestSufficientHole) {
  const std::vector<Lifetime> lifetimes = {{1024, 0, 9}, {256, 0, 3}, {512, 0, 9}, {256, 4, 9}};
  const MemoryPlan plan = PlanMemory(lifetimes);
  ExpectValid(lifetimes, plan);
  EXPECT_EQ(plan.arena_bytes, MemoryLowerBound(lifetimes));
}

// None of the initial orders gives the smallest plan here. Placing first the tensors that reach the
// top does.
TEST(MemoryPlannerTest, ImprovesPlansToTheLowerBound) {
  const std::vector<Lifetime> lifetimes[] = {
      {{320, 1, 3}, {128, 3, 5}, {128, 5, 7}, {256, 5, 6}},
      {{384, 4, 6}, {192, 0, 2}, {64, 2, 3}, {320, 2, 3}, {384, 3, 4}},
      {{256, 4, 6}, {192, 0, 2}, {384, 5, 6}, {128, 1, 3}, {384, 3, 3}, {128, 3, 4}},
  };
  for (const std::vector<Lifetime>& some : lifetimes) {
    const MemoryPlan plan = PlanMemory(some);
    ExpectValid(some, plan);
    EXPECT_EQ(plan.arena_bytes, MemoryLowerBound(some));
    EXPECT_EQ(plan.planner, "best_fit_by_conflicts");
  }
}

// An order tried later gives a larger plan here, which cannot be improved.
TEST(MemoryPlannerTest, ImprovesSmallestPlan) {
  const std::vector<Lifetime> lifetimes = {{256, 4, 6}, {192, 3, 5}, {384, 6, 6},
                                           {384, 2, 4}, {128, 2, 3}, {256, 5, 7}};
  const MemoryPlan plan = PlanMemory(lifetimes);
  ExpectValid(lifetimes, plan);
  EXPECT_EQ(plan.arena_bytes, MemoryLowerBound(lifetimes));
}

TEST(MemoryPlannerTest, EmptyTensorsUseNoMemory) {
  const std::vector<Lifetime> lifetimes = {
      {0, 0, 3}, {64, 0, 1}, {64, 1, 2}, {0, 1, 2}, {64, 2, 3}};
  const MemoryPlan plan = PlanMemory(lifetimes);
  ExpectValid(lifetimes, plan);
  EXPECT_EQ(plan.arena_bytes, 128u);
}

// Hundreds of tensors get fewer improvement rounds; plans never become worse.
TEST(MemoryPlannerTest, HundredsOfTensorsAreCloseToTheLowerBound) {
  std::mt19937 random(TestSeed());
  std::vector<Lifetime> lifetimes(600);
  for (Lifetime& l : lifetimes) {
    l.first = random() % 1000;
    l.last = l.first + random() % 100;
    l.bytes = 1 + random() % 5000;
  }
  const MemoryPlan plan = PlanMemory(lifetimes);
  ExpectValid(lifetimes, plan);
  EXPECT_LE(plan.arena_bytes, 2 * MemoryLowerBound(lifetimes));
}

TEST(MemoryPlannerTest, RandomPlansAreValidAndCloseToTheLowerBound) {
  std::mt19937 random(TestSeed());
  for (int round = 0; round < 100; ++round) {
    std::vector<Lifetime> lifetimes(1 + random() % 60);
    for (Lifetime& l : lifetimes) {
      l.first = random() % 100;
      l.last = l.first + random() % 20;
      l.bytes = random() % 5000;
    }
    const MemoryPlan plan = PlanMemory(lifetimes);
    ExpectValid(lifetimes, plan);
    EXPECT_GE(plan.arena_bytes, MemoryLowerBound(lifetimes));
    EXPECT_LE(plan.arena_bytes, 2 * MemoryLowerBound(lifetimes));
  }
}

// Thousands of tensors are placed in the order of their first use, each into the smallest hole
// between live tensors.
TEST(MemoryPlannerTest, ThousandsOfTensorsShareMemory) {
  // Holes of 256, 128 and 192 bytes for the last tensor: it uses that of 128.
  std::vector<Lifetime> lifetimes = {{256, 0, 4}, {64, 1, 9}, {128, 2, 4}, {64, 3, 9},
                                     {192, 4, 4}, {64, 4, 9}, {0, 5, 5},   {100, 6, 7}};
  for (uint32_t i = 0; i < 4500; ++i)
    lifetimes.push_back({640 + i % 3 * 64, 10 + i, 10 + i + i % 4});
  const MemoryPlan plan = PlanMemory(lifetimes);
  EXPECT_EQ(plan.planner, "best_fit_in_time");
  EXPECT_EQ(plan.offsets[7], plan.offsets[2]);
  EXPECT_LE(plan.arena_bytes, 2 * MemoryLowerBound(lifetimes));
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0u);
    EXPECT_LE(plan.offsets[i] + lifetimes[i].bytes, plan.arena_bytes);
    for (size_t k = i < 10 ? 0 : i - 10; k < i; ++k) {  // no tensor lives longer
      if (lifetimes[k].last < lifetimes[i].first || lifetimes[i].last < lifetimes[k].first)
        continue;
      EXPECT_TRUE(plan.offsets[i] + lifetimes[i].bytes <= plan.offsets[k] ||
                  plan.offsets[k] + lifetimes[k].bytes <= plan.offsets[i])
          << "tensors " << i << " and " << k;
    }
  }
  // All alive at once: no sharing is possible.
  const std::vector<Lifetime> together(4001, Lifetime{64, 0, 0});
  EXPECT_EQ(PlanMemory(together).arena_bytes, 4001u * 64);
}

TEST(MemoryPlannerTest, SlotsHaveOneOffsetPerTensorAliveAtOnce) {
  const std::vector<Lifetime> chain = {
      {100, 0, 1}, {9000, 1, 2}, {64, 2, 3}, {0, 2, 4}, {500, 3, 4}};
  const MemoryPlan plan = PlanSlots(chain);
  ExpectValid(chain, plan);
  EXPECT_EQ(plan.offsets, (std::vector<uint64_t>{0, 4096, 0, 0, 4096}));
  EXPECT_EQ(plan.arena_bytes, 4096u + 3 * 4096u);
  EXPECT_EQ(PlanSlots({}).arena_bytes, 0u);
}

TEST(MemoryPlannerTest, SlotsOfRandomTensorsAreValid) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes(1 + random() % 60);
    for (Lifetime& lifetime : lifetimes) {
      lifetime.bytes = random() % 20'000;
      lifetime.first = random() % 100;
      lifetime.last = lifetime.first + random() % 20;
    }
    ExpectValid(lifetimes, PlanSlots(lifetimes));
  }
}

TEST(MemoryPlannerTest, PlannersByName) {
  std::mt19937 random(11);
  std::vector<Lifetime> lifetimes(40);
  for (Lifetime& lifetime : lifetimes) {
    lifetime.bytes = random() % 5000;
    lifetime.first = random() % 30;
    lifetime.last = lifetime.first + random() % 9;
  }
  const MemoryPlan best = PlanMemory(lifetimes);
  uint64_t total = 0;
  for (const Lifetime& lifetime : lifetimes) total += (lifetime.bytes + 63) / 64 * 64;
  for (const std::string_view name :
       {"bump", "best_fit_by_size", "best_fit_by_start", "best_fit_by_length", "best_fit_by_area",
        "best_fit_in_time", "slots"}) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const MemoryPlan plan, PlanMemoryBy(name, lifetimes));
    EXPECT_EQ(plan.planner, name);
    ExpectValid(lifetimes, plan);
    EXPECT_GE(plan.arena_bytes, best.arena_bytes);
    if (name == "bump") EXPECT_EQ(plan.arena_bytes, total);
  }
  EXPECT_THAT(PlanMemoryBy("best", lifetimes),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "unknown memory planner 'best'; known: best_fit_by_size, best_fit_by_start, "
                       "best_fit_by_length, best_fit_by_area, bump, best_fit_in_time, slots"));
}

TEST(MemoryPlannerTest, PlannersOfTheCaller) {
  const std::vector<Lifetime> lifetimes = {{100, 0, 1}, {200, 0, 1}};
  const MemoryPlanner down = {
      "down", [](absl::Span<const Lifetime>) { return std::vector<uint64_t>{256, 0}; }};
  const MemoryPlanner few = {"few",
                             [](absl::Span<const Lifetime>) { return std::vector<uint64_t>{0}; }};
  const MemoryPlanner large = {"large", [](absl::Span<const Lifetime>) {
                                 return std::vector<uint64_t>{0, uint64_t{1} << 63};
                               }};
  const std::vector<MemoryPlanner> own = {down, few, large};
  ASSERT_OK_AND_ASSIGN(const MemoryPlan plan, PlanMemoryBy("down", lifetimes, own));
  ExpectValid(lifetimes, plan);
  EXPECT_EQ(plan.arena_bytes, 384u);
  for (const std::string_view name : {"few", "large"}) {
    EXPECT_THAT(
        PlanMemoryBy(name, lifetimes, own),
        StatusIs(absl::StatusCode::kInternal, HasSubstr("expected 2 offsets below 2^63, got ")));
  }
  EXPECT_THAT(PlanMemoryBy("up", lifetimes, own),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("known: down, few, large, ")));
}

TEST(MemoryPlannerTest, SameInputGivesSamePlan) {
  const std::vector<Lifetime> lifetimes = {{300, 0, 2}, {300, 1, 3}, {300, 2, 4}, {100, 0, 4}};
  EXPECT_EQ(PlanMemory(lifetimes).offsets, PlanMemory(lifetimes).offsets);
}

}  // namespace
}  // namespace belay::exir
