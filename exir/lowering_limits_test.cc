// Tests that lowering stays within its limits for any program.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::StatusCode kExhausted = absl::StatusCode::kResourceExhausted;

class LoweringLimitsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK_AND_ASSIGN(ops_, CreateStandardOps()); }

  absl::Status Lower(std::string_view text, const LoweringLimits& limits = {}) {
    absl::StatusOr<ExportedProgram> program = ParseProgram(text, *ops_);
    if (!program.ok()) return program.status();
    MethodPrograms methods;
    methods.emplace_back("forward", *std::move(program));
    PipelineOptions options;
    options.limits = limits;
    return LowerPrograms(std::move(methods), options).status();
  }

  std::unique_ptr<OpRegistry> ops_;
};

constexpr std::string_view kSmall = R"(program aten {
  graph(%x: f32[2,3] user_input) {
    %y: f32[2,3] = aten.celu.default(%x, 2.0)
    return (%y user_output)
  }
})";

// Recurrent layers. Up to 1,024 steps are unrolled into nodes.
std::string Recurrent(int steps, int layers = 1) {
  const std::string n = std::to_string(steps);
  std::string text = "program aten {\n  graph(%y0: f32[" + n +
                     ",1,1] user_input, %h: f32[1,1,1] user_input, %a: f32[1,1] user_input, "
                     "%b: f32[1,1] user_input) {\n";
  for (int i = 0; i < layers; ++i) {
    text += "    %y" + std::to_string(i + 1) + ": f32[" + n + ",1,1], %s" + std::to_string(i) +
            ": f32[1,1,1] = aten.rnn_tanh.input(%y" + std::to_string(i) +
            ", %h, [%a, %b], false, 1, 0.0, false, false, false)\n";
  }
  return text + "    return (%y" + std::to_string(layers) +
         " user_output, %s0 user_output)\n  }\n}";
}

TEST_F(LoweringLimitsTest, SmallProgramsAreFarBelowTheDefaults) { EXPECT_OK(Lower(kSmall)); }

TEST_F(LoweringLimitsTest, CountsNodesOfDecompositions) {
  EXPECT_THAT(
      Lower(Recurrent(5), {.nodes = 3}),
      StatusIs(kExhausted, AllOf(HasSubstr("aten.rnn_tanh.input"),
                                 HasSubstr("more nodes than the 3 that the limit 'nodes'"))));
  EXPECT_THAT(Lower(Recurrent(1000, 40)),
              StatusIs(kExhausted, AllOf(HasSubstr("aten.rnn_tanh.input"), HasSubstr("'nodes'"))));
}

// Longer ones are loops with the number of nodes of a single step.
TEST_F(LoweringLimitsTest, LongRecurrencesCostNothing) {
  for (int steps : {20'000, 200'000}) EXPECT_OK(Lower(Recurrent(steps), {.nodes = 100}));
}

TEST_F(LoweringLimitsTest, DeadlineAndCancellation) {
  EXPECT_THAT(Lower(kSmall, {.deadline = std::chrono::steady_clock::now()}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("'deadline'")));
  std::atomic<bool> cancel = true;
  EXPECT_THAT(Lower(kSmall, {.cancel = &cancel}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("'cancel'")));
  cancel = false;
  EXPECT_OK(Lower(kSmall, {.cancel = &cancel}));
}

TEST_F(LoweringLimitsTest, CallersBudgetAlsoStopsIt) {
  Budget budget;
  budget.deadline = std::chrono::steady_clock::now();
  const Budget::Scope scope(&budget);
  EXPECT_THAT(Lower(kSmall), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

// Counting the indices of a triangle does not loop over its rows.
TEST_F(LoweringLimitsTest, LargeTrianglesCostNothing) {
  const auto start = std::chrono::steady_clock::now();
  std::string text = "program aten {\n  graph(%x: f32[2] user_input) {\n";
  for (int i = 0; i < 200; ++i) {
    text += "    %y" + std::to_string(i) +
            ": i64[2,1] = aten.tril_indices.default(16777216, 1, -16777215)\n";
  }
  text += "    return (%y0 user_output)\n  }\n}";
  EXPECT_OK(Lower(text));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace belay::exir
