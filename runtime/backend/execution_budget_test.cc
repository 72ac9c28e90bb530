#include "runtime/backend/execution_budget.h"

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(ExecutionBudgetTest, HasNoBoundsAtFirst) {
  ExecutionBudget budget;
  for (int i = 0; i < 1000; ++i) ASSERT_OK(budget.TakeInstruction());
  EXPECT_EQ(budget.executed, 1000u);
}

TEST(ExecutionBudgetTest, EndsAtEachOfItsBounds) {
  ExecutionBudget budget;
  budget.allowed = 2;
  EXPECT_OK(budget.TakeInstruction());
  EXPECT_OK(budget.TakeInstruction());
  EXPECT_THAT(budget.TakeInstruction(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("after the 2 instructions that the limit")));
  budget.allowed = 3;
  std::atomic<bool> cancel = true;
  budget.cancel = &cancel;
  EXPECT_THAT(budget.TakeInstruction(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("after 2 instructions")));
  cancel = false;
  budget.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_THAT(budget.TakeInstruction(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("after 2 instructions")));
  budget.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  EXPECT_OK(budget.TakeInstruction());
  EXPECT_EQ(budget.executed, 3u);
}

}  // namespace
}  // namespace belay
