#include "runtime/program/limits.h"

#include "gtest/gtest.h"

namespace belay {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(LimitsTest, AreProportionalToTheFile) {
  const Limits empty = LimitsOfFile(Limits(), 0);
  EXPECT_EQ(empty.arena_bytes, 384 * kMiB);
  EXPECT_EQ(empty.delegate_bytes, 384 * kMiB);
  EXPECT_EQ(empty.scratch_bytes, 128 * kMiB);
  EXPECT_EQ(empty.executed_work, 50'000'000'000u);
  const Limits large = LimitsOfFile(Limits(), 100 * kMiB);
  EXPECT_EQ(large.arena_bytes, 1984 * kMiB);
  EXPECT_EQ(large.executed_work, 50'000'000'000u + 50'000 * 100 * kMiB);
  const Limits huge = LimitsOfFile(Limits(), UINT64_MAX / 2);
  EXPECT_EQ(huge.arena_bytes, UINT64_MAX);
  EXPECT_EQ(huge.executed_work, UINT64_MAX);
  // 16 * file size fits, but overflows when the limit of an empty file is added.
  const Limits almost = LimitsOfFile(Limits(), UINT64_MAX / 16);
  EXPECT_EQ(almost.arena_bytes, UINT64_MAX);
  EXPECT_EQ(almost.scratch_bytes, UINT64_MAX);
}

TEST(LimitsTest, UseExplicitValues) {
  Limits limits;
  limits.arena_bytes = 1;
  limits.executed_work = 2;
  const Limits resolved = LimitsOfFile(limits, 100 * kMiB);
  EXPECT_EQ(resolved.arena_bytes, 1u);
  EXPECT_EQ(resolved.executed_work, 2u);
  EXPECT_EQ(LimitsOfDelegate(limits).arena_bytes, 1u);
}

TEST(LimitsTest, DelegatesInheritLimitsOfTheMethod) {
  const Limits limits = LimitsOfDelegate(Limits());
  EXPECT_EQ(limits.arena_bytes, uint64_t{1} << 40);
  EXPECT_EQ(limits.delegate_bytes, uint64_t{1} << 40);
  EXPECT_EQ(limits.scratch_bytes, uint64_t{1} << 40);
}

}  // namespace
}  // namespace belay
