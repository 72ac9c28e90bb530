// Checks that the harness of pass tests detects errors.
#include <string>

#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace belay::exir {
namespace {

constexpr char kBefore[] = R"(program aten { graph(%x: f32[2] user_input) {
  %a: f32[2] = aten.relu.default(%x)
  %b: f32[2] = aten.relu.default(%a)
  return (%b user_output) } })";
constexpr char kAfter[] = R"(program aten { graph(%x: f32[2] user_input) {
  %a: f32[2] = aten.relu.default(%x)
  return (%a user_output) } })";

absl::StatusOr<bool> Nothing(ExportedProgram&) { return false; }

// relu(relu(x)) → relu(x)
absl::StatusOr<bool> FoldRelu(ExportedProgram& program) {
  Graph& graph = program.top();
  const Node& last = graph.node(graph.last());
  GraphEditor editor(graph);
  const Node& first = graph.node(graph.first());
  if (last.target != first.target || graph.first() == graph.last()) return false;
  editor.ReplaceAllUses(last.results()[0], first.results()[0]);
  editor.EraseNode(graph.last());
  return true;
}

absl::StatusOr<bool> FoldReluSilently(ExportedProgram& program) {
  return FoldRelu(program).ok() ? false : true;
}

absl::StatusOr<bool> Fail(ExportedProgram&) { return absl::UnimplementedError("no such thing"); }

TEST(ExpectRewrite, AcceptsExpectedResult) {
  ExpectRewrite(kBefore, FoldRelu, kAfter);
  ExpectUnchanged(kAfter, FoldRelu);
  ExpectPassError(kBefore, Fail, absl::StatusCode::kUnimplemented, "such");
}

TEST(ExpectRewrite, DetectsDifferentResult) {
  EXPECT_NONFATAL_FAILURE(ExpectUnchanged(kBefore, FoldReluSilently), "PrintProgram");
}

TEST(ExpectRewrite, DetectsWrongChangeReport) {
  EXPECT_NONFATAL_FAILURE(ExpectRewrite(kBefore, FoldReluSilently, kAfter), "the pass's answer");
}

TEST(ExpectRewrite, DetectsFailingPass) {
  EXPECT_NONFATAL_FAILURE(ExpectUnchanged(kBefore, Fail), "no such thing");
}

TEST(ExpectRewrite, DetectsInvalidText) {
  EXPECT_NONFATAL_FAILURE(ExpectRewrite("program", Nothing, kAfter), "line 1, column 8");
}

TEST(ExpectRewrite, DetectsMalformedProgram) {
  constexpr char kIllFormed[] = "program aten { graph(%x: f32[2]) { return () } }";
  EXPECT_NONFATAL_FAILURE(ExpectRewrite(kBefore, FoldRelu, kIllFormed), "V8");
}

TEST(ExpectRewriteDeathTest, ParseOrDiePrintsError) {
  EXPECT_DEATH(ParseOrDie("program", TestOps()), "line 1, column 8");
}

}  // namespace
}  // namespace belay::exir
