// Injects faults into cases in memory; every fault must be reported. Checks that each intended
// difference is covered by a case.
#include "conformance/lowering/case_runner.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "exir/ops/standard_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::conformance {
namespace {

using ::testing::HasSubstr;

constexpr char kFolder[] = "conformance/lowering/";

class CaseRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, exir::CreateStandardOps()); }

  absl::StatusOr<LoweringCase> Read(const std::string& name) {
    return ReadLoweringCase(absl::StrCat(kFolder, "cases/", name));
  }
  // Returns why the case fails; "" if it passes.
  std::string Failure(const LoweringCase& lowering_case) {
    const absl::Status status = CheckLoweringCase(lowering_case);
    return status.ok() ? RunLoweringCase(lowering_case, *ops_).failure : status.ToString();
  }

  std::unique_ptr<exir::OpRegistry> ops_;
};

// `patch` (RFC 6902) of expected.json, or of `file`. The report must contain `report`; "" marks an
// edit that is not a fault.
TEST_F(CaseRunnerTest, ReportsInjectedFaults) {
  ASSERT_OK_AND_ASSIGN(const Json faults,
                       ReadJsonFile(absl::StrCat(kFolder, "planted_faults.json")));
  ASSERT_GE(faults.size(), 100u);
  for (const Json& fault : faults) {
    SCOPED_TRACE(absl::StrCat(Text(fault, "case"), ": ", Text(fault, "fault")));
    ASSERT_OK_AND_ASSIGN(LoweringCase lowering_case, Read(Text(fault, "case")));
    ASSERT_EQ(Failure(lowering_case), "");
    Json& file = fault.contains("file") ? lowering_case.description : lowering_case.expected;
    file = file.patch(fault["patch"]);
    const std::string report = Text(fault, "report"), failure = Failure(lowering_case);
    EXPECT_THAT(failure, HasSubstr(report));
    EXPECT_EQ(failure.empty(), report.empty()) << failure;
  }
}

// Rows without a case in the tree are covered by a case with a modified case.json (`patch`), and
// with ExecuTorch's result according to docs/lowering.md.
TEST_F(CaseRunnerTest, CasesCoverAllDifferences) {
  std::set<std::string> reached;
  const auto run = [&](const LoweringCase& lowering_case) {
    ASSERT_OK(CheckLoweringCase(lowering_case));
    const CaseOutcome outcome = RunLoweringCase(lowering_case, *ops_);
    EXPECT_EQ(outcome.failure, "") << lowering_case.directory;
    ASSERT_NE(outcome.difference, nullptr) << lowering_case.directory;
    reached.emplace(outcome.difference->reason);
  };
  for (const Difference& row : Differences()) {
    for (const auto& name : absl::StrSplit(ToAbsl(row.cases), ' ', absl::SkipEmpty())) {
      ASSERT_OK_AND_ASSIGN(const LoweringCase lowering_case, Read(std::string(name)));
      run(lowering_case);
    }
  }
  ASSERT_OK_AND_ASSIGN(const Json more,
                       ReadJsonFile(absl::StrCat(kFolder, "reached_differences.json")));
  for (const Json& row : more) {
    ASSERT_OK_AND_ASSIGN(LoweringCase lowering_case, Read(Text(row, "case")));
    lowering_case.description = lowering_case.description.patch(row["patch"]);
    lowering_case.expected = row["expected"];
    run(lowering_case);
  }
  for (const Difference& row : Differences()) {
    EXPECT_TRUE(reached.contains(std::string(row.reason))) << row.reason;
  }
}

TEST_F(CaseRunnerTest, PartitionersEditOnlyTheirCopy) {
  for (const char* action : {"retarget", "literal", "kwarg", "swap_args", "add_dead_node",
                             "rewire_output", "move_before", "meta"}) {
    ASSERT_OK_AND_ASSIGN(LoweringCase lowering_case, Read("single_op"));
    lowering_case.description["rounds"][0]["tamper"] = {
        {"action", action}, {"op", "aten.add.Tensor"}, {"occurrence", 0}};
    EXPECT_EQ(Failure(lowering_case), "") << action;
  }
}

// A difference excuses only what it concerns: runs the same cases without the cause of the
// difference.
TEST_F(CaseRunnerTest, MissingDifferencesFail) {
  ASSERT_OK_AND_ASSIGN(LoweringCase single, Read("single_op"));
  single.directory = absl::StrCat(kFolder, "cases/param_returned");
  EXPECT_NE(Failure(single), "");
}

}  // namespace
}  // namespace belay::conformance
