#include "exir/pass_manager/pass_manager.h"

#include <chrono>
#include <string>
#include <vector>

#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::HasSubstr;

ExportedProgram Program() {
  return ParseOrDie(R"(program aten {
  graph(%x: f32[2] user_input) {
    %dead: f32[2] = aten.relu.default(%x)
    %y: f32[2] = aten.relu.default(%x)
    return (%y user_output)
  }
})",
                    TestOps());
}

// Erases %dead if present, and returns whether it did, or the opposite.
Pass Erase(bool lies) {
  return {"erase", [lies](ExportedProgram& program) -> absl::StatusOr<bool> {
            const bool there = program.top().num_nodes() == 2;
            if (there) GraphEditor(program.top()).EraseNode(program.top().first());
            return there != lies;
          }};
}

TEST(PassManagerTest, ReportsEachPass) {
  std::vector<PassReport> reports;
  std::vector<size_t> seen;
  PassManagerOptions options;
  options.check_changed = true;
  options.after_pass = [&](const PassReport& report, const ExportedProgram& program) {
    EXPECT_EQ(report.nodes_after, program.top().num_nodes());
    seen.push_back(report.nodes_before);
  };
  const Pass passes[] = {Erase(false), Erase(false)};
  ASSERT_OK_AND_ASSIGN(const ExportedProgram program,
                       RunPasses(Program(), passes, options, &reports));
  EXPECT_EQ(program.top().num_nodes(), 1u);
  EXPECT_THAT(seen, ::testing::ElementsAre(2u, 1u));
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].name, "erase");
  EXPECT_TRUE(reports[0].changed);
  EXPECT_FALSE(reports[1].changed);
}

TEST(PassManagerTest, ChecksReturnValuesIfEnabled) {
  PassManagerOptions options;
  const Pass once[] = {Erase(true)}, twice[] = {Erase(false), Erase(true)};
  EXPECT_OK(RunPasses(Program(), once, options).status());
  options.check_changed = true;
  EXPECT_THAT(RunPasses(Program(), once, options).status(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("pass erase said that it changed nothing, but the text form")));
  EXPECT_THAT(RunPasses(Program(), twice, options).status(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("pass erase said that it changed something, but the text form")));
}

TEST(PassManagerTest, ErrorsNameTheirPass) {
  const Pass fails[] = {{"fails", [](ExportedProgram&) -> absl::StatusOr<bool> {
                           return absl::UnimplementedError("no way");
                         }}};
  EXPECT_THAT(RunPasses(Program(), fails).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("pass fails: no way")));
  const Pass breaks[] = {{"breaks", [](ExportedProgram& program) -> absl::StatusOr<bool> {
                            program.signature.outputs.clear();
                            return true;
                          }}};
  EXPECT_THAT(
      RunPasses(Program(), breaks).status(),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("pass breaks left a program that does not")));
}

TEST(PassManagerTest, PassesWorkWithinTheBudget) {
  Budget budget;
  budget.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Budget::Scope scope(&budget);
  const Pass passes[] = {Erase(false)};
  EXPECT_THAT(RunPasses(Program(), passes).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("pass erase")));
}

}  // namespace
}  // namespace belay::exir
