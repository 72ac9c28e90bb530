#include "tools/belay/command_limits.h"

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/test_in_directory.h"
#include "runtime/core/testing.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";

CommandLimits Seconds(double timeout) {
  CommandLimits limits;
  limits.timeout = timeout;
  return limits;
}

[[noreturn]] void LoopThatAsksNobody() {
  for (volatile uint64_t i = 0;; i = i + 1) {
  }
}

TEST(CommandLimitsTest, WatchdogEndsLoopThatIgnoresBudget) {
  const auto start = Clock::now();
  EXPECT_EXIT(
      {
        const WithinLimits within(Seconds(0.2), {});
        LoopThatAsksNobody();
      },
      ::testing::ExitedWithCode(kBadInput), "after the 0.2 seconds that the limit '--timeout'");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
}

// Other processes may use the processor: only the command's own time counts.
TEST(CommandLimitsTest, WaitingIsNotCounted) {
  const WithinLimits within(Seconds(0.2), {});
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_OK(CheckBudget());
}

TEST(CommandLimitsTest, WaitingEnds) {
  const WithinLimits within(Seconds(0.01), {});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_THAT(CheckBudget(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("'deadline'")));
}

TEST(CommandLimitsTest, ReportNamesTimeoutOption) {
  const Outcome outcome =
      Capture([] { return Report(absl::DeadlineExceededError("lower: stopped")); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("lower: stopped; raise the limit with --timeout SECONDS"));
}

TEST(CommandLimitsTest, WatchdogEndsProcessBeyondMemoryLimit) {
  CommandLimits limits;
  limits.memory = 100 << 20;
  EXPECT_EXIT(
      {
        const WithinLimits within(limits, {});
        std::vector<std::string> all;
        while (true) all.emplace_back(1 << 20, 'x');
      },
      ::testing::ExitedWithCode(kBadInput),
      "more than the 104857600 that the limit "
      "'--limit-memory' allows");
}

TEST(CommandLimitsTest, CommandThreadHasDeadline) {
  const WithinLimits within(Seconds(3600), {});
  ASSERT_NE(Budget::Current(), nullptr);
  ASSERT_TRUE(Budget::Current()->deadline.has_value());
  EXPECT_GT(*Budget::Current()->deadline, Clock::now() + std::chrono::minutes(59));
  EXPECT_OK(CheckBudget());
}

TEST(CommandLimitsTest, ZeroTimeoutIsUnlimited) {
  for (const double none : {0.0, 1e9}) {
    const WithinLimits within(Seconds(none), {});
    EXPECT_FALSE(Budget::Current()->deadline.has_value()) << none;
  }
}

TEST(CommandLimitsTest, SetsProgramAndLoweringLimits) {
  const CommandLimits none;
  EXPECT_EQ(none.ForPrograms().limits.arena_bytes, Limits().arena_bytes);
  EXPECT_EQ(none.ForLowering().nodes, exir::LoweringLimits().nodes);
  CommandLimits limits;
  limits.memory = 1;
  limits.work = 2;
  limits.nodes = 3;
  const Program::Options options = limits.ForPrograms(FileAccess::kCopy);
  EXPECT_EQ(options.access, FileAccess::kCopy);
  EXPECT_EQ(options.limits.arena_bytes, 1u);
  EXPECT_EQ(options.limits.delegate_bytes, 1u);
  EXPECT_EQ(options.limits.scratch_bytes, 1u);
  EXPECT_EQ(options.limits.executed_work, 2u);
  const exir::LoweringLimits lowering = limits.ForLowering();
  EXPECT_EQ(lowering.memory_bytes, 1u);
  EXPECT_EQ(lowering.work, 2u);
  EXPECT_EQ(lowering.nodes, 3u);
}

class LimitedCommandTest : public TestInDirectory {};

TEST_F(LimitedCommandTest, LowerNamesLimitAndWritesNothing) {
  LowerOptions options{.input = kMlp, .output = Path("p.belay")};
  options.limits.nodes = 2;
  const Outcome outcome = Capture([&] { return Lower(options); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("the 2 that the limit 'nodes' allows"));
  EXPECT_FALSE(std::filesystem::exists(Path("p.belay")));
}

// One second per MiB.
TEST_F(LimitedCommandTest, CompanionsCountAsFiles) {
  for (const bool companion : {false, true}) {
    LowerOptions options{.input = kMlp, .output = Path("p.belay")};
    if (companion) options.external_constants = {"weights"};
    ASSERT_EQ(Capture([&] { return Lower(options); }).status, kDone);
    ASSERT_OK_AND_ASSIGN(const Program program, Program::Open(Path("p.belay")));
    WithinLimits within({}, {Path("p.belay")});
    const auto before = *Budget::Current()->deadline;
    within.Add(program);
    EXPECT_EQ(*Budget::Current()->deadline > before, companion);
  }
}

TEST_F(LimitedCommandTest, RunNamesLimit) {
  LowerOptions lower{.input = kMlp, .output = Path("p.belay")};
  lower.backends = {"none"};
  ASSERT_EQ(Capture([&] { return Lower(lower); }).status, kDone);
  RunOptions options{.program = Path("p.belay")};
  options.seed = 1;
  options.copy = true;
  EXPECT_EQ(Capture([&] { return tools::Run(options); }).status, kDone);
  options.limits.work = 10;
  Outcome outcome = Capture([&] { return tools::Run(options); });
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_THAT(outcome.errors, HasSubstr("of the 10 that the limit 'work' allows"));
  InspectOptions inspect{.file = Path("p.belay")};
  inspect.limits.work = 10;
  EXPECT_EQ(Capture([&] { return Inspect(inspect); }).status, kDone);
}

TEST_F(LimitedCommandTest, HelpListsLimits) {
  for (const char* command : {"lower", "run", "inspect", "verify"}) {
    std::ostringstream out, error;
    EXPECT_EQ(RunCommandLine({command, "--help"}, AllCommands(), out, error), kDone);
    EXPECT_THAT(out.str(), AllOf(HasSubstr("--timeout"), HasSubstr("--limit-memory"),
                                 HasSubstr("--limit-work")));
  }
}

}  // namespace
}  // namespace belay::tools
