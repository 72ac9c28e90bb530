#include "backends/cpu/aot/passes/fuse_rms_norm.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/graph_editor.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

using ::testing::ElementsAre;

std::string Program(std::string_view nodes) {
  return absl::StrCat(R"(program edge { constants { state "w": f32[8] }
      graph(%w: f32[8] parameter "w", %x: f32[2,3,8] user_input, %z: f32[2,3,8] user_input) { )",
                      nodes, " } }");
}
void ExpectFused(std::string_view before, std::string_view after) {
  FusedHandles handles;
  exir::ExpectRewrite(Program(before), FuseRmsNorm(handles).run, Program(after), CpuPassTestOps());
}
void ExpectLeft(std::string_view nodes) {
  FusedHandles handles;
  exir::ExpectUnchanged(Program(nodes), FuseRmsNorm(handles).run, CpuPassTestOps());
}

// The reciprocal root of the mean of squares, followed by `rest`.
std::string Behind(std::string_view rest,
                   std::string_view square = "edge.aten.pow.Tensor_Scalar(%x, 2)",
                   std::string_view mean = "%q, [-1], true",
                   std::string_view sum = "edge.aten.add.Scalar(%m, 0.001)") {
  return absl::StrCat("%q: f32[2,3,8] = ", square, " %m: f32[2,3,1] = edge.aten.mean.dim(", mean,
                      ") %s: f32[2,3,1] = ", sum, " %r: f32[2,3,1] = edge.aten.rsqrt.default(%s) ",
                      rest);
}
constexpr std::string_view kWeighted =
    "%y: f32[2,3,8] = edge.aten.mul.Tensor(%x, %r) "
    "%o: f32[2,3,8] = edge.aten.mul.Tensor(%y, %w) return (%o user_output)";
constexpr std::string_view kFused =
    "%o: f32[2,3,8] = backend.belay_cpu.rms_norm.default(%x, %w, 0.001) return (%o user_output)";

TEST(FuseRmsNorm, FusesWithWeight) {
  ExpectFused(Behind(kWeighted), kFused);
  ExpectFused(Behind(kWeighted, "edge.aten.mul.Tensor(%x, %x)"), kFused);
  ExpectFused(Behind(kWeighted, "edge.aten.pow.Tensor_Scalar(%x, 2.0)", "%q, [2], true"), kFused);
  ExpectFused(Behind("%y: f32[2,3,8] = edge.aten.mul.Tensor(%r, %x) "
                     "%o: f32[2,3,8] = edge.aten.mul.Tensor(%w, %y) return (%o user_output)"),
              kFused);
}

// Other operators after the norm are not a weight.
TEST(FuseRmsNorm, FusesWithoutWeight) {
  const std::string norm = "%y: f32[2,3,8] = backend.belay_cpu.rms_norm.default(%x, none, 0.001) ";
  const std::string product = "%y: f32[2,3,8] = edge.aten.mul.Tensor(%x, %r) ";
  for (const std::string rest :
       {"%o: f32[2,3,8] = edge.aten.mul.Tensor(%y, %z) return (%o user_output)",
        "%o: f32[2,3,8] = edge.aten.mul.Tensor(%y, %y) return (%o user_output)",
        "%o: f32[2,3,8] = edge.aten.mul.Tensor(%y, %w) return (%o user_output, %y user_output)",
        "return (%y user_output, %w user_output)"}) {
    std::string before = Program(Behind(product + rest)), after = Program(norm + rest);
    if (rest.find("%w") == std::string::npos) {
      const std::string state = "state \"w\": f32[8]", input = "%w: f32[8] parameter \"w\", ";
      after = exir::Replaced(after, {{state, ""}, {input, ""}});
    }
    FusedHandles handles;
    exir::ExpectRewrite(before, FuseRmsNorm(handles).run, after, CpuPassTestOps());
  }
}

// A root with other users stays.
TEST(FuseRmsNorm, KeepsSharedRoots) {
  ExpectFused(Behind("%y: f32[2,3,8] = edge.aten.mul.Tensor(%x, %r) "
                     "%o: f32[2,3,8] = edge.aten.mul.Tensor(%y, %w) "
                     "%p: f32[2,3,8] = edge.aten.mul.Tensor(%z, %r) "
                     "return (%o user_output, %p user_output)"),
              Behind("%o: f32[2,3,8] = backend.belay_cpu.rms_norm.default(%x, %w, 0.001) "
                     "%p: f32[2,3,8] = edge.aten.mul.Tensor(%z, %r) "
                     "return (%o user_output, %p user_output)"));
}

// The norm has the handles of the fused nodes; a root with other users keeps its own.
TEST(FuseRmsNorm, KeepsHandlesOfFusedNodes) {
  const auto handles_of = [](std::string_view rest) {
    FusedHandles handles;
    exir::ExportedProgram program = exir::ParseOrDie(Program(Behind(rest)), CpuPassTestOps());
    exir::GraphEditor editor(program.top());
    int64_t handle = 10;
    for (exir::NodeId id : program.top().NodeList()) editor.SetDebugHandle(id, handle++);
    EXPECT_TRUE(FuseRmsNorm(handles).run(program).ok());
    const exir::NodeId norm = exir::FindNode(program.top(), "o");
    return handles.MapOf(program).value().at(program.top().node(norm).debug_handle);
  };
  EXPECT_THAT(handles_of(kWeighted), ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(handles_of("%y: f32[2,3,8] = edge.aten.mul.Tensor(%x, %r) "
                         "%o: f32[2,3,8] = edge.aten.mul.Tensor(%y, %w) "
                         "return (%o user_output, %r user_output)"),
              ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_THAT(handles_of("%y: f32[2,3,8] = edge.aten.mul.Tensor(%x, %r) "
                         "%o: f32[2,3,8] = edge.aten.mul.Tensor(%y, %w) "
                         "%p: f32[2,3,8] = edge.aten.mul.Tensor(%z, %r) "
                         "return (%o user_output, %p user_output)"),
              ElementsAre(14, 15));
}

// A single row: its square is not a weight, and other functions of the root are not norms.
TEST(FuseRmsNorm, FusesOneRow) {
  const auto program = [](std::string_view nodes) {
    return absl::StrCat("program edge { graph(%x: f32[8] user_input) { ", nodes, " } }");
  };
  const std::string root =
      "%q: f32[8] = edge.aten.pow.Tensor_Scalar(%x, 2) %m: f32[1] = edge.aten.mean.dim(%q, [0], "
      "true) %s: f32[1] = edge.aten.add.Scalar(%m, 0.001) ";
  const std::string_view square =
      "%o: f32[8] = edge.aten.mul.Tensor(%y, %y) return (%o user_output)";
  FusedHandles handles;
  exir::ExpectRewrite(
      program(absl::StrCat(root, "%r: f32[1] = edge.aten.rsqrt.default(%s) ",
                           "%y: f32[8] = edge.aten.mul.Tensor(%x, %r) ", square)),
      FuseRmsNorm(handles).run,
      program(absl::StrCat("%y: f32[8] = backend.belay_cpu.rms_norm.default(%x, none, 0.001) ",
                           square)),
      CpuPassTestOps());
  for (std::string_view rest :
       {"%r: f32[1] = edge.aten.rsqrt.default(%s) "
        "%o: f32[8] = edge.aten.sub.Tensor(%x, %r) return (%o user_output)",
        "%r: f32[1] = edge.aten.sqrt.default(%s) "
        "%o: f32[8] = edge.aten.mul.Tensor(%x, %r) return (%o user_output)"}) {
    exir::ExpectUnchanged(program(root + std::string(rest)), FuseRmsNorm(handles).run,
                          CpuPassTestOps());
  }
}

TEST(FuseRmsNorm, DoesNotFuseOtherPatterns) {
  ExpectLeft(Behind(kWeighted, "edge.aten.pow.Tensor_Scalar(%x, 3)"));
  ExpectLeft(Behind(kWeighted, "edge.aten.mul.Tensor(%x, %z)"));
  ExpectLeft(Behind(kWeighted, "edge.aten.abs.default(%x)"));
  ExpectLeft(Behind(kWeighted, "edge.aten.pow.Tensor_Scalar(%z, 2)"));
  ExpectLeft(Behind(kWeighted, "edge.aten.pow.Tensor_Scalar(%x, 2)", "%q, [-1], true",
                    "edge.aten.add.Scalar(%m, 0.001, 2)"));
  ExpectLeft(Behind(kWeighted, "edge.aten.pow.Tensor_Scalar(%x, 2)", "%q, [-1], true",
                    "edge.aten.abs.default(%m)"));
  ExpectLeft(
      "%q: f32[2,3,8] = edge.aten.pow.Tensor_Scalar(%x, 2) "
      "%m: f32[2,1,8] = edge.aten.mean.dim(%q, [1], true) "
      "%s: f32[2,1,8] = edge.aten.add.Scalar(%m, 0.001) "
      "%r: f32[2,1,8] = edge.aten.rsqrt.default(%s) "
      "%y: f32[2,3,8] = edge.aten.mul.Tensor(%x, %r) return (%y user_output, %w user_output)");
  ExpectLeft(
      "%a: f32[2,3,8] = edge.aten.abs.default(%x) %r: f32[2,3,8] = edge.aten.rsqrt.default(%a) "
      "%y: f32[2,3,8] = edge.aten.mul.Tensor(%x, %r) return (%y user_output, %w user_output)");
}

}  // namespace
}  // namespace belay::cpu
