// Human-readable output of commands: words, shapes and units.
#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/core/test_in_directory.h"
#include "tools/belay/captured_outcome.h"
#include "tools/belay/command.h"

namespace belay::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMobileNet[] = "conformance/models/zoo/mobilenet_tiny/model.pt2";
constexpr char kMlp[] = "conformance/models/zoo/mlp/model.pt2";
constexpr char kMlpInput[] = "conformance/models/zoo/mlp/case_0/input_0.npy";

class PrintedOutputTest : public TestInDirectory {
 protected:
  Outcome Lowered(const std::string& archive, const std::string& backends) {
    return Capture([&] {
      return Lower({.input = archive, .output = Path("p.belay"), .backends = {backends}});
    });
  }
};

TEST_F(PrintedOutputTest, LowerPrintsDelegationAndReasons) {
  const Outcome outcome = Lowered(kMobileNet, "demo,cpu");
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(
      outcome.output,
      AllOf(
          ContainsRegex("p\\.belay: [0-9.]+ kB, lowered in .*, longest phase: .*, "),
          ContainsRegex("method forward: [0-9.]+ kB for activations \\(peak live size "),
          ContainsRegex("  cpu: [0-9]+ of [0-9]+ nodes in [0-9]+ delegates, [0-9.]+ % of "),
          ContainsRegex("\n  generic kernels in cpu: [0-9]+ of [0-9]+ calls, .* read and written "),
          ContainsRegex("  demo: "), ContainsRegex("  kernels: [0-9]+ of [0-9]+ nodes, "),
          ContainsRegex("  not delegated, 6 nodes: operator aten.clamp.default is not "
                        "supported.* \\(.* at .*:[0-9]+, ")));
  EXPECT_LE(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 11);
  EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b")));
}

TEST_F(PrintedOutputTest, LowerPrintsNoReasonsWithoutBackends) {
  const Outcome outcome = Lowered(kMlp, "none");
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("  kernels: "), Not(HasSubstr("not delegated"))));
}

TEST_F(PrintedOutputTest, BenchPrintsShapesAndAcceptsInputs) {
  ASSERT_EQ(Lowered(kMlp, "cpu").status, kDone);
  const auto bench = [&](const BenchOptions& options) {
    const Outcome outcome = Capture([&] { return Bench(options); });
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    return outcome.output;
  };
  EXPECT_THAT(
      bench({.program = Path("p.belay"), .inputs = {kMlpInput}, .seconds = 0.01}),
      AllOf(ContainsRegex("\ninputs: .*: f32\\[4,16\\]\n"), ContainsRegex("\noutputs: f32\\[4,")));
  const json report = json::parse(
      bench({.program = Path("p.belay"), .seconds = 0.01, .json = true}), nullptr, false);
  EXPECT_EQ(report["inputs"].size(), 1u);
  EXPECT_EQ(report["outputs"].size(), 1u);
}

TEST_F(PrintedOutputTest, OpsFiltersByName) {
  const Outcome linear = Capture([&] { return Ops({.name = "aten.linear."}); });
  EXPECT_EQ(linear.status, kDone);
  EXPECT_THAT(linear.output, AllOf(HasSubstr("aten.linear.default"), HasSubstr(" decomposes\n"),
                                   Not(HasSubstr("aten.add"))));
  const Outcome typo = Capture([&] { return Ops({.name = "lineer"}); });
  EXPECT_EQ(typo.status, kNegative);
  EXPECT_THAT(typo.errors, HasSubstr("contains 'lineer' (did you mean linear?)"));
}

}  // namespace
}  // namespace belay::tools
