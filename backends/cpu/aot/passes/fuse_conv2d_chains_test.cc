#include "backends/cpu/aot/passes/fuse_conv2d_chains.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

// `body` computes from images %x with 32 channels and %o with 8, and returns. Weights: %a and %b
// are 1x1, 32 to 32 and 32 to 8 channels; %d is depthwise 3x3 with 32 channels.
std::string Program(std::string_view body) {
  return absl::StrCat(R"(program edge {
    constants { constant "a": f32[1024] constant "b": f32[1024] constant "d": f32[288]
                constant "c": f32[32] }
    graph(%a: f32[1024] tensor_constant "a", %b: f32[1024] tensor_constant "b",
          %d: f32[288] tensor_constant "d", %c: f32[32] tensor_constant "c",
          %x: f32[1,32,64,64]{strides=[131072,1,2048,32]} user_input,
          %o: f32[1,8,64,64]{strides=[32768,1,512,8]} user_input) {
      )",
                      body, " } }");
}

// Returns the remaining nodes.
std::string Fused(std::string_view body) {
  FusedHandles handles;
  exir::ExportedProgram program = exir::ParseOrDie(Program(body), CpuPassTestOps());
  const absl::StatusOr<bool> changed = FuseConv2dChains(handles).run(program);
  if (!changed.ok()) return changed.status().ToString();
  std::string text;
  for (exir::NodeId id : program.top().nodes()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", exir::PrintNode(program.top(), id));
  }
  return text;
}
void ExpectLeft(std::string_view body) {
  FusedHandles handles;
  exir::ExportedProgram program = exir::ParseOrDie(Program(body), CpuPassTestOps());
  const std::string before = exir::PrintProgram(program);
  const absl::StatusOr<bool> changed = FuseConv2dChains(handles).run(program);
  ASSERT_OK(changed.status());
  EXPECT_FALSE(*changed);
  EXPECT_EQ(exir::PrintProgram(program), before);
}

constexpr std::string_view kImages = "f32[1,32,64,64]{strides=[131072,1,2048,32]}";

// %<name> = a 1x1 convolution with 32 channels, or a depthwise 3x3 convolution.
std::string Product(std::string_view name, std::string_view input) {
  return absl::StrCat("%", name, ": ", kImages, " = backend.belay_cpu.conv2d.default(%", input,
                      ", %a, %c, none, 32, [1,1], [1,1], [0,0], [1,1], \"none\", \"add\", 0.0, "
                      "6.0)\n");
}
std::string Depthwise(std::string_view name, std::string_view input) {
  return absl::StrCat("%", name, ": ", kImages, " = backend.belay_cpu.depthwise_conv2d.default(%",
                      input, ", %d, none, none, [3,3], [1,1], [1,1], [1,1], \"silu\", \"add\", ",
                      "-inf, inf)\n");
}

TEST(FuseConv2dChains, FusesAnInvertedResidual) {
  EXPECT_EQ(Fused(absl::StrCat(Product("y", "x"), Depthwise("z", "y"),
                               "%w: f32[1,8,64,64]{strides=[32768,1,512,8]} = "
                               "backend.belay_cpu.conv2d.default(%z, %b, none, %o, "
                               "8, [1,1], [1,1], [0,0], [1,1], \"none\", \"mul\", -inf, inf)\n"
                               "return (%w user_output)")),
            "%w_1: f32[1,8,64,64]{strides=[32768,1,512,8]} = "
            "backend.belay_cpu.conv2d_chain.default(%x, [%a,%d,%b], [%c,none,none], %o, [32,0,8], "
            "[1,1,3,3,1,1], [1,1,1,1,1,1], [0,0,0,0,1,1,1,1,0,0,0,0], [1,1,1,1,1,1], "
            "\"none silu none\", \"mul\", [0.0,-inf,-inf], [6.0,inf,inf])");
}

TEST(FuseConv2dChains, FusesAtMostFourWindows) {
  const std::string fused = Fused(absl::StrCat(
      Depthwise("p", "x"), Depthwise("q", "p"), Depthwise("r", "q"), Depthwise("t", "r"),
      Depthwise("u", "t"), Depthwise("v", "u"), "return (%v user_output)"));
  EXPECT_NE(fused.find("%t_1: "), std::string::npos) << fused;
  EXPECT_NE(fused.find("%v_1: "), std::string::npos) << fused;
  EXPECT_EQ(fused.find("%u"), std::string::npos) << fused;
}

TEST(FuseConv2dChains, DoesNotFuseSharedResults) {
  ExpectLeft(absl::StrCat(Product("y", "x"), Depthwise("z", "y"),
                          "return (%y user_output, %z user_output)"));
  ExpectLeft(absl::StrCat(Product("y", "x"), Depthwise("z", "y"), Depthwise("w", "y"),
                          "return (%z user_output, %w user_output)"));
}

// `other` is available only when the last stage begins.
TEST(FuseConv2dChains, OnlyTheLastStageHasOther) {
  const std::string fused = Fused(absl::StrCat(
      Product("y", "x"),
      "%z: f32[1,32,64,64]{strides=[131072,1,2048,32]} = backend.belay_cpu.conv2d.default(%y, %a, "
      "none, %x, 32, [1,1], [1,1], [0,0], [1,1], \"none\", \"add\", -inf, inf)\n",
      Depthwise("w", "z"), "return (%w user_output)"));
  EXPECT_NE(fused.find("%z_1: f32[1,32,64,64]{strides=[131072,1,2048,32]} = "
                       "backend.belay_cpu.conv2d_chain.default(%x, [%a,%a], [%c,none], %x, "),
            std::string::npos)
      << fused;
  EXPECT_NE(fused.find("backend.belay_cpu.depthwise_conv2d.default(%z_1, "), std::string::npos)
      << fused;
}

TEST(FuseConv2dChains, DoesNotFuseResultsUsedTwice) {
  ExpectLeft(absl::StrCat(
      Product("y", "x"),
      "%z: f32[1,32,64,64]{strides=[131072,1,2048,32]} = backend.belay_cpu.conv2d.default(%y, %a, "
      "none, %y, 32, [1,1], [1,1], [0,0], [1,1], \"none\", \"add\", -inf, inf)\n",
      "return (%z user_output)"));
}

// A convolution after another one, on images of this size.
std::string Pair(int channels, int size, int weight, std::string_view kernel,
                 std::string_view padding, int result) {
  const std::string images =
      absl::StrCat("f32[1,", channels, ",", size, ",", size, "]{strides=[", channels * size * size,
                   ",1,", channels * size, ",", channels, "]}");
  const std::string results =
      absl::StrCat("f32[1,", channels, ",", result, ",", result, "]{strides=[",
                   channels * result * result, ",1,", channels * result, ",", channels, "]}");
  return absl::StrCat(
      "program edge { constants { constant \"w\": f32[", weight, "] constant \"d\": f32[",
      9 * channels, "] } graph(%w: f32[", weight, "] tensor_constant \"w\", %d: f32[", 9 * channels,
      "] tensor_constant \"d\", %x: ", images, " user_input) { %y: ", images,
      " = backend.belay_cpu.depthwise_conv2d.default(%x, %d, none, none, [3,3], "
      "[1,1], [1,1], [1,1], \"none\", \"add\", -inf, inf) %z: ",
      results, " = backend.belay_cpu.conv2d.default(%y, %w, none, none, ", channels, ", ", kernel,
      ", [1,1], ", padding, ", [1,1], \"none\", \"add\", -inf, inf) return (%z user_output) } }");
}
bool Fuses(const std::string& text) {
  FusedHandles handles;
  exir::ExportedProgram program = exir::ParseOrDie(text, CpuPassTestOps());
  const absl::StatusOr<bool> changed = FuseConv2dChains(handles).run(program);
  return changed.ok() && *changed;
}

TEST(FuseConv2dChains, ChecksThresholds) {
  EXPECT_TRUE(Fuses(Pair(32, 64, 32 * 32, "[1,1]", "[0,0]", 64)));
  // 32 * 63 * 63 floats are less than 512 KiB.
  EXPECT_FALSE(Fuses(Pair(32, 63, 32 * 32, "[1,1]", "[0,0]", 63)));
  // A weight of 256 KiB, and one of more.
  EXPECT_TRUE(Fuses(Pair(256, 32, 256 * 256, "[1,1]", "[0,0]", 32)));
  EXPECT_FALSE(Fuses(Pair(288, 32, 288 * 288, "[1,1]", "[0,0]", 32)));
}

TEST(FuseConv2dChains, ChecksStageLimits) {
  EXPECT_TRUE(Fuses(Pair(32, 64, 32 * 32, "[1,1]", "[0,0,0,0]", 64)));
  EXPECT_FALSE(Fuses(Pair(32, 64, 32 * 9 * 32, "[3,3]", "[1,1]", 64))) << "products of windows";
  EXPECT_FALSE(Fuses(Pair(32, 64, 32 * 32, "[1,1]", "[1,1]", 66))) << "images grow";
  EXPECT_FALSE(Fuses(Pair(4, 256, 4 * 32, "[1,1]", "[0,0]", 256))) << "few channels are copied";
  // Padding that enlarges images.
  ExpectLeft(absl::StrCat(
      Product("y", "x"),
      "%z: f32[1,32,66,66]{strides=[139392,1,2112,32]} = "
      "backend.belay_cpu.depthwise_conv2d.default(%y, %d, none, none, [3,3], [1,1], [2,2], [1,1], "
      "\"none\", \"add\", -inf, inf)\n",
      "return (%z user_output)"));
}

TEST(FuseConv2dChains, RequiresKnownSizes) {
  for (std::string_view type : {"f32[1,32,s0,64]", "f32[s0,32,64,64]"}) {
    EXPECT_FALSE(Fuses(absl::StrCat(
        "program edge { ranges { s0: [1,99] } constants { constant \"d\": f32[288] } graph(%d: "
        "f32[288] tensor_constant \"d\", %x: ",
        type, " user_input) { %y: ", type,
        " = backend.belay_cpu.depthwise_conv2d.default(%x, %d, none, none, [3,3], [1,1], [1,1], "
        "[1,1], \"none\", \"add\", -inf, inf) %z: ",
        type,
        " = backend.belay_cpu.depthwise_conv2d.default(%y, %d, none, none, [3,3], [1,1], [1,1], "
        "[1,1], \"none\", \"add\", -inf, inf) return (%z user_output) } }")));
  }
}

TEST(FuseConv2dChains, DoesNotFuseStridedPointwiseConvolutions) {
  ExpectLeft(absl::StrCat(Depthwise("y", "x"),
                          "%z: f32[1,32,32,32] = backend.belay_cpu.conv2d.default(%y, %a, none, "
                          "none, 32, [1,1], [2,2], "
                          "[0,0], [1,1], \"none\", \"add\", -inf, inf)\n",
                          "return (%z user_output)"));
}

TEST(FuseConv2dChains, EndsAtNarrowImages) {
  ExpectLeft(absl::StrCat(
      Depthwise("y", "x"),
      "%z: f32[1,32,64,3] = backend.belay_cpu.depthwise_conv2d.default(%y, %d, none, none, [3,3], "
      "[1,31], [1,1], [1,1], \"none\", \"add\", -inf, inf)\n",
      "return (%z user_output)"));
}

// Threads divide rows, and sequences have one.
TEST(FuseConv2dChains, EndsAtImagesOfFewRows) {
  const auto strided = [](int64_t stride, int64_t rows) {
    return absl::StrCat(Depthwise("y", "x"), "%z: f32[1,32,", rows,
                        ",64] = backend.belay_cpu.depthwise_conv2d.default(%y, %d, none, none, "
                        "[3,3], [",
                        stride, ",1], [1,1], [1,1], \"none\", \"add\", -inf, inf)\n",
                        "return (%z user_output)");
  };
  ExpectLeft(strided(10, 7));
  EXPECT_NE(Fused(strided(9, 8)).find("conv2d_chain"), std::string::npos);
}

// At most eight stages: of nine, eight and one.
TEST(FuseConv2dChains, FusesAtMostEightStages) {
  std::string body;
  for (int i = 0; i < 9; ++i) {
    absl::StrAppend(&body, Product(absl::StrCat("p", i), i == 0 ? "x" : absl::StrCat("p", i - 1)));
  }
  const std::string fused = Fused(absl::StrCat(body, "return (%p8 user_output)"));
  EXPECT_NE(fused.find("%p7_1: "), std::string::npos) << fused;
  EXPECT_NE(fused.find("conv2d.default(%p7_1, "), std::string::npos) << fused;
}

// Another convolution uses the result only as `other`.
TEST(FuseConv2dChains, DoesNotFuseResultsThatAreOnlyAdded) {
  ExpectLeft(absl::StrCat(
      Product("y", "x"),
      "%z: f32[1,32,64,64]{strides=[131072,1,2048,32]} = backend.belay_cpu.conv2d.default(%x, %a, "
      "none, %y, 32, [1,1], [1,1], [0,0], [1,1], \"none\", \"add\", -inf, inf)\n",
      "return (%z user_output)"));
}

}  // namespace
}  // namespace belay::cpu
