#include "runtime/core/budget.h"

#include "runtime/core/testing.h"

namespace belay {
namespace {

using ::testing::HasSubstr;

TEST(BudgetTest, DefaultIsUnlimited) {
  Budget budget;
  for (int i = 0; i < 1000; ++i) ASSERT_OK(budget.TakeInstruction());
  EXPECT_EQ(budget.instructions.taken, 1000u);
}

TEST(BudgetTest, StopsAtEachBound) {
  Budget budget;
  budget.instructions.allowed = 2;
  EXPECT_OK(budget.TakeInstruction());
  EXPECT_OK(budget.TakeInstruction());
  EXPECT_THAT(budget.TakeInstruction(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("after the 2 instructions that the limit")));
  budget.instructions.allowed = 3;
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
  EXPECT_EQ(budget.instructions.taken, 3u);
}

TEST(BudgetTest, BoundsTotalWork) {
  Budget budget;
  budget.work.allowed = 100;
  EXPECT_OK(budget.TakeInstruction(60));
  EXPECT_OK(budget.TakeWork(30));
  EXPECT_THAT(budget.TakeInstruction(11),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("takes 11 units of work, 10 are left of the 100 that the limit "
                                 "'work' allows")));
  EXPECT_EQ(budget.instructions.taken, 1u);
  EXPECT_OK(budget.TakeInstruction(10));
}

TEST(BudgetTest, BoundsTotalBytes) {
  Budget budget;
  budget.bytes.allowed = 100;
  EXPECT_OK(budget.TakeBytes(60, "one"));
  EXPECT_THAT(budget.TakeBytes(41, "another"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("another takes 41 bytes, 40 are left of the 100 that the limit "
                                 "'memory' allows")));
  EXPECT_OK(budget.TakeBytes(40, "another"));
}

TEST(BudgetTest, CountsNodesByResults) {
  Budget budget;
  budget.nodes.allowed = 10;
  budget.CountNode(0);
  budget.CountNode(9);
  EXPECT_OK(budget.Check());
  budget.CountNode();
  EXPECT_THAT(budget.Check(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more nodes than the 10 that the limit 'nodes' allows")));
}

TEST(BudgetTest, InnermostScopeApplies) {
  EXPECT_EQ(Budget::Current(), nullptr);
  EXPECT_OK(CheckBudget());
  EXPECT_OK(TakeWork(UINT64_MAX));
  EXPECT_OK(TakeBytes(UINT64_MAX, "anything"));
  Budget outer, inner;
  outer.bytes.allowed = inner.work.allowed = 0;
  {
    const Budget::Scope scope(&outer);
    {
      const Budget::Scope nested(&inner);
      EXPECT_EQ(Budget::Current(), &inner);
      EXPECT_OK(TakeBytes(1, "a byte"));
      EXPECT_THAT(TakeWork(1), StatusIs(absl::StatusCode::kResourceExhausted));
      EXPECT_OK(CheckBudget());
      std::atomic<bool> cancel = true;
      inner.cancel = &cancel;
      EXPECT_THAT(CheckBudget(), StatusIs(absl::StatusCode::kCancelled));
      inner.cancel = nullptr;
    }
    EXPECT_EQ(Budget::Current(), &outer);
    EXPECT_THAT(TakeBytes(1, "a byte"), StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_EQ(Budget::Current(), nullptr);
}

TEST(BudgetTest, LoopsStopAtDeadlineAndOnCancel) {
  EXPECT_FALSE(Budget::Stop());
  std::atomic<bool> cancel = false;
  Budget budget;
  budget.cancel = &cancel;
  const Budget::Scope scope(&budget);
  EXPECT_FALSE(Budget::Stop());
  EXPECT_FALSE(budget.cut_short());
  cancel = true;
  EXPECT_TRUE(Budget::Stop());
  EXPECT_TRUE(budget.cut_short());
  // Stop() is sticky.
  cancel = false;
  EXPECT_TRUE(Budget::Stop());
  EXPECT_THAT(budget.Check(), StatusIs(absl::StatusCode::kCancelled));
  Budget late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Budget::Scope nested(&late);
  EXPECT_TRUE(Budget::Stop());
  EXPECT_THAT(late.Check(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("'deadline'")));
}

TEST(BudgetTest, CheckReadsTheClock) {
  std::atomic<bool> cancel = false;
  Budget budget;
  budget.cancel = &cancel;
  EXPECT_OK(budget.Check());
  cancel = true;
  EXPECT_THAT(budget.Check(), StatusIs(absl::StatusCode::kCancelled));
  cancel = false;
  budget.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_THAT(budget.Check(), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST(BudgetTest, PacePollsAtIntervals) {
  std::atomic<bool> cancel = true;
  Budget budget;
  budget.cancel = &cancel;
  const Budget::Scope scope(&budget);
  Budget::Pace pace;
  EXPECT_FALSE(pace.Stop(1));
  EXPECT_FALSE(budget.cut_short());
  EXPECT_TRUE(pace.Stop(1 << 20));
  EXPECT_TRUE(pace.Stop(1));
  EXPECT_TRUE(pace.stopped());
}

TEST(BudgetTest, InheritsEndOfEnclosingBudget) {
  std::atomic<bool> cancel = true;
  Budget around, within;
  around.deadline = std::chrono::steady_clock::now();
  around.cancel = &cancel;
  within.deadline = *around.deadline + std::chrono::hours(1);
  within.InheritEnd(nullptr);
  EXPECT_GT(*within.deadline, *around.deadline);
  within.InheritEnd(&around);
  EXPECT_EQ(within.deadline, around.deadline);
  EXPECT_EQ(within.cancel, &cancel);
  Budget endless;
  within.InheritEnd(&endless);
  EXPECT_EQ(within.deadline, around.deadline);
  // An earlier deadline is kept.
  within.deadline = *around.deadline - std::chrono::hours(1);
  within.InheritEnd(&around);
  EXPECT_LT(*within.deadline, *around.deadline);
}

}  // namespace
}  // namespace belay
