#include "runtime/core/memory_budget.h"

#include <cstdint>

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(MemoryBudgetTest, TracksRemainder) {
  MemoryBudget budget("delegate_bytes", 100);
  EXPECT_OK(budget.Take(60, "the first"));
  EXPECT_OK(budget.Take(0, "nothing"));
  EXPECT_THAT(budget.Take(41, "the second"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the second of 41 bytes exceeds the limit 'delegate_bytes' of 100, of which "
                       "40 are left"));
  EXPECT_THAT(budget.Take(UINT64_MAX, "all"), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(budget.left(), 40u);
  EXPECT_OK(budget.Take(40, "the rest"));
  EXPECT_EQ(budget.left(), 0u);
  EXPECT_FALSE(budget.Take(1, "more").ok());
}

TEST(MemoryBudgetTest, PartChargesTheWhole) {
  MemoryBudget whole("delegate_bytes", 100);
  MemoryBudget arena("arena_bytes", 70, &whole), scratch("scratch_bytes", 1000, &whole);
  EXPECT_OK(arena.Take(50, "a"));
  EXPECT_THAT(arena.Take(21, "b"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'arena_bytes' of 70")));
  EXPECT_THAT(scratch.Take(51, "c"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'delegate_bytes' of 100")));
  EXPECT_OK(scratch.Take(50, "d"));
  EXPECT_EQ(scratch.left(), 950u);
  EXPECT_EQ(whole.left(), 0u);
}

}  // namespace
}  // namespace belay
