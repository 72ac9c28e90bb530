#include "backends/cpu/aot/passes/lower_conv2d.h"

#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

void ExpectLeft(std::string_view before) {
  exir::ExpectUnchanged(before, LowerConv2d().run, CpuPassTestOps());
}

TEST(LowerConv2d, PacksFilters) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[8,3,3,2] state "b": f32[8] }
    graph(%w: f32[8,3,3,2] parameter "w", %b: f32[8] parameter "b",
          %x: f32[1,3,9,9] user_input) {
      %y: f32[1,8,4,9] = edge.aten.convolution.default(%x, %w, %b, [2,1], [0,1], [1,2], false, [0,0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { state "b": f32[8] constant "w_packed0": f32[576] }
    graph(%b: f32[8] parameter "b", %w_packed0: f32[576] tensor_constant "w_packed0",
          %x: f32[1,3,9,9] user_input) {
      %y: f32[1,8,4,9] = backend.belay_cpu.conv2d.default(%x, %w_packed0, %b, none, 8, [3,2], [2,1], [0,1], [1,2], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// Packed weights are inserted between constants that are still to be packed.
TEST(LowerConv2d, PacksManyDistinctConstants) {
  constexpr int kCount = 40;
  std::string constants, inputs, nodes, results;
  for (int i = 0; i < kCount; ++i) {
    const std::string w = absl::StrCat("w", i), type = absl::StrCat("f32[", i + 1, ",2,1,1]");
    absl::StrAppend(&constants, " constant \"", w, "\": ", type);
    absl::StrAppend(&inputs, "%", w, ": ", type, " tensor_constant \"", w, "\", ");
    absl::StrAppend(&nodes, "%y", i, ": f32[1,", i + 1,
                    ",3,3] = edge.aten.convolution.default(%x, %", w,
                    ", none, [1], [0], [1], false, [0], 1)\n");
    absl::StrAppend(&results, i == 0 ? "" : ", ", "%y", i, " user_output");
  }
  ASSERT_OK_AND_ASSIGN(
      exir::ExportedProgram program,
      exir::ParseProgram(
          absl::StrCat("program edge { constants {", constants, " } graph(", inputs,
                       "%x: f32[1,2,3,3] user_input) {\n", nodes, "return (", results, ") } }"),
          CpuPassTestOps()));
  ASSERT_OK(LowerConv2d().run(program));
  const exir::Graph& graph = program.top();
  int i = 0;
  for (exir::NodeId id : graph.nodes()) {
    const exir::Node& node = graph.node(id);
    EXPECT_EQ(graph.value(*node.value_argument("weight")).name, absl::StrCat("w", i, "_packed0"));
    EXPECT_EQ(node.argument("out_channels"), exir::Argument(int64_t{i} + 1));
    ++i;
  }
  EXPECT_EQ(i, kCount);
}

TEST(LowerConv2d, FoldsZeroPadding) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[20,1,3,3] }
    graph(%w: f32[20,1,3,3] parameter "w", %x: f32[1,20,8,8] user_input) {
      %p: f32[1,20,10,11] = edge.aten.constant_pad_nd.default(%x, [1,2,0,2], 0.0)
      %y: f32[1,20,8,11] = edge.aten.convolution.default(%p, %w, none, [1], [0,1], [1], false, [0], 20)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed0": f32[288] }
    graph(%w_packed0: f32[288] tensor_constant "w_packed0", %x: f32[1,20,8,8] user_input) {
      %y: f32[1,20,8,11] = backend.belay_cpu.depthwise_conv2d.default(%x, %w_packed0, none, none, [3,3], [1,1], [0,2,2,3], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, PacksGroups) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[48,16,3,3] state "b": f32[48] }
    graph(%w: f32[48,16,3,3] parameter "w", %b: f32[48] parameter "b",
          %x: f32[1,48,9,9] user_input) {
      %p: f32[1,48,10,9] = edge.aten.constant_pad_nd.default(%x, [0,0,1,0], 0.0)
      %y: f32[1,48,9,9] = edge.aten.convolution.default(%p, %w, %b, [1,1], [0,1], [1,1], false, [0,0], 3)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { state "b": f32[48] constant "w_packed0": f32[9216] }
    graph(%b: f32[48] parameter "b", %w_packed0: f32[9216] tensor_constant "w_packed0",
          %x: f32[1,48,9,9] user_input) {
      %y: f32[1,48,9,9] = backend.belay_cpu.convolution.default(%x, %w_packed0, %b, none, 48, 3, false, [3,3], [1,1], [1,1,0,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, PacksPhasesOfTransposedConvolutions) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[8,5,4,3] }
    graph(%w: f32[8,5,4,3] parameter "w", %x: f32[s0,8,9,9] user_input) {
      %y: f32[s0,5,18,20] = edge.aten.convolution.default(%x, %w, none, [2,2], [1,0], [1,1], true, [0,1], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed0": f32[3072] }
    graph(%w_packed0: f32[3072] tensor_constant "w_packed0", %x: f32[s0,8,9,9] user_input) {
      %y: f32[s0,5,18,20] = backend.belay_cpu.convolution.default(%x, %w_packed0, none, none, 5, 1, true, [4,3], [2,2], [1,0], [0,1], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, PacksFiltersOfVolumes) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[8,3,1,3,3] }
    graph(%w: f32[8,3,1,3,3] parameter "w", %x: f32[1,3,4,9,9] user_input) {
      %y: f32[1,8,4,4,9] = edge.aten.convolution.default(%x, %w, none, [1,2,1], [0,0,1], [1], false, [0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed0": f32[864] }
    graph(%w_packed0: f32[864] tensor_constant "w_packed0", %x: f32[1,3,4,9,9] user_input) {
      %y: f32[1,8,4,4,9] = backend.belay_cpu.convolution.default(%x, %w_packed0, none, none, 8, 1, false, [1,3,3], [1,2,1], [0,0,1], [0,0,0], [1,1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, DoesNotLowerTransposedConvolutionsOfManyPhases) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[8,5,1,1] }
    graph(%w: f32[8,5,1,1] parameter "w", %x: f32[1,8,2,1] user_input) {
      %y: f32[1,5,258,1] = edge.aten.convolution.default(%x, %w, none, [257,1], [0,0], [1,1], true, [0,0], 1)
      return (%y user_output) } })");
}

TEST(LowerConv2d, UsesWinogradOnRequest) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[32,16,3,3] state "b": f32[32] }
    graph(%w: f32[32,16,3,3] parameter "w", %b: f32[32] parameter "b",
          %x: f32[1,16,14,15] user_input) {
      %p: f32[1,16,15,15] = edge.aten.constant_pad_nd.default(%x, [0,0,1,0], 0.0)
      %y: f32[1,32,15,15] = edge.aten.convolution.default(%p, %w, %b, [1], [1], [1], false, [0], 1)
      return (%y user_output) } })",
                      LowerConv2d(nullptr, Winograd::kAny).run, R"(program edge {
    constants { state "b": f32[32] constant "w_packed_winograd_0": f32[18432] }
    graph(%b: f32[32] parameter "b", %w_packed_winograd_0: f32[18432] tensor_constant "w_packed_winograd_0",
          %x: f32[1,16,14,15] user_input) {
      %y: f32[1,32,15,15] = backend.belay_cpu.winograd_conv2d.default(%x, %w_packed_winograd_0, %b, none, 32, [3,3], [1,1], [2,1,1,1], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// 3x3 with stride and dilation 1, static shapes, and enough results to amortize the transforms.
TEST(LowerConv2d, UsesWinogradIfCheaper) {
  struct {
    std::string_view input, weight, output, how;
    std::string_view op;
  } constexpr kRows[] = {
      {"1,16,12,12", "32,16,3,3", "1,32,12,12", "[1,1], [1,1], [1,1], false, [0,0], 1",
       "winograd_conv2d"},
      // A batch of two amortizes the transforms, a single image does not.
      {"2,16,8,8", "32,16,3,3", "2,32,8,8", "[1,1], [1,1], [1,1], false, [0,0], 1",
       "winograd_conv2d"},
      {"1,16,8,8", "32,16,3,3", "1,32,8,8", "[1,1], [1,1], [1,1], false, [0,0], 1", "conv2d"},
      {"1,16,s0,12", "32,16,3,3", "1,32,s0,12", "[1,1], [1,1], [1,1], false, [0,0], 1", "conv2d"},
      {"1,7,40,40", "32,7,3,3", "1,32,40,40", "[1,1], [1,1], [1,1], false, [0,0], 1", "conv2d"},
      {"1,16,40,40", "32,16,3,3", "1,32,20,40", "[2,1], [1,1], [1,1], false, [0,0], 1", "conv2d"},
      {"1,16,40,40", "32,16,3,3", "1,32,40,38", "[1,1], [1,1], [1,2], false, [0,0], 1", "conv2d"},
      {"1,16,40,40", "32,16,1,3", "1,32,40,40", "[1,1], [0,1], [1,1], false, [0,0], 1", "conv2d"},
      {"1,16,40,40", "16,1,3,3", "1,16,40,40", "[1,1], [1,1], [1,1], false, [0,0], 16",
       "depthwise_conv2d"}};
  for (const auto& row : kRows) {
    const std::string weight = absl::StrCat("f32[", row.weight, "]");
    ASSERT_OK_AND_ASSIGN(
        exir::ExportedProgram program,
        exir::ParseProgram(
            absl::StrCat("program edge { ranges { s0: [2,64] } constants { state \"w\": ", weight,
                         " } graph(%w: ", weight, " parameter \"w\", %x: f32[", row.input,
                         "] user_input) { %y: f32[", row.output,
                         "] = edge.aten.convolution.default(%x, %w, none, ", row.how,
                         ") return (%y user_output) } }"),
            CpuPassTestOps()));
    ASSERT_OK(LowerConv2d(nullptr, Winograd::kAny).run(program));
    const exir::Graph& graph = program.top();
    EXPECT_EQ(graph.node(*graph.nodes().begin()).target->op(), row.op) << row.input << row.how;
  }
}

// The operator has no quantized form. The next run of the pass packs the values.
TEST(LowerConv2d, DequantizesWeightsOfTransposedConvolutions) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": i8[8,5,3,1] }
    graph(%w: i8[8,5,3,1] parameter "w", %x: f32[1,8,2,1] user_input) {
      %f: f32[8,5,3,1] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, dtype:i8)
      %y: f32[1,5,4,1] = edge.aten.convolution.default(%x, %f, none, [1,1], [0,0], [1,1], true, [0,0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_f32_0": f32[8,5,3,1] }
    graph(%w_f32_0: f32[8,5,3,1] tensor_constant "w_f32_0", %x: f32[1,8,2,1] user_input) {
      %y: f32[1,5,4,1] = edge.aten.convolution.default(%x, %w_f32_0, none, [1,1], [0,0], [1,1], true, [0,0], 1)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// The accurate variant needs sums of 24 terms; sizes of the weight tell the variants apart.
TEST(LowerConv2d, UsesAccurateWinogradByDefault) {
  struct {
    Winograd winograd;
    std::string_view input, weight, rest;
    std::string_view op, packed;
  } constexpr kRows[] = {
      {Winograd::kAccurate, "24,24,24", "32,24,3,3", "1], [1], [1], false, [0", "winograd_conv2d",
       "f32[12288]"},  // 16 x 24 x 32
      {Winograd::kAccurate, "23,24,24", "32,23,3,3", "1], [1], [1], false, [0", "conv2d",
       "f32[6624]"},  // 9 x 23 x 32
      {Winograd::kNever, "32,24,24", "32,32,3,3", "1], [1], [1], false, [0", "conv2d",
       "f32[9216]"},  // 9 x 32 x 32
      {Winograd::kAny, "32,24,24", "32,32,3,3", "1], [1], [1], false, [0", "winograd_conv2d",
       "f32[36864]"},  // 36 x 32 x 32
      {Winograd::kAccurate, "32,6,24,24", "32,32,3,3,3", "1], [1], [1], false, [0",
       "winograd_convolution", "f32[49152]"},  // 3 x 16 x 32 x 32
      // The window's planes share the transforms, which cost too much for 16 filters of one plane.
      {Winograd::kAccurate, "32,6,24,24", "16,32,3,3,3", "1], [1], [1], false, [0",
       "winograd_convolution", "f32[49152]"},  // 3 x 16 x 32 x 32
      {Winograd::kAccurate, "16,6,24,24", "16,16,3,3,3", "1], [1], [1], false, [0", "convolution",
       "f32[13824]"},  // 27 x 16 x 32
      {Winograd::kAccurate, "32,24,24", "16,32,3,3", "1], [1], [1], false, [0", "conv2d",
       "f32[9216]"},  // 9 x 32 x 32
      {Winograd::kAccurate, "32,6,24,24", "32,32,1,3,3", "1], [0,1,1], [1], false, [0",
       "winograd_convolution", "f32[16384]"},  // 16 x 32 x 32
      {Winograd::kAccurate, "32,6,24,24", "32,32,3,1,1", "1], [1,0,0], [1], false, [0",
       "convolution", "f32[3072]"},  // 3 x 32 x 32
      {Winograd::kAccurate, "32,6,24,24", "32,32,3,3,3", "1], [1], [1], true, [0", "convolution",
       "f32[27648]"}};  // 27 x 32 x 32
  for (const auto& row : kRows) {
    const std::string weight = absl::StrCat("f32[", row.weight, "]");
    const std::string images = absl::StrCat("f32[1,", row.input, "]");
    ASSERT_OK_AND_ASSIGN(
        exir::ExportedProgram program,
        exir::ParseProgram(
            absl::StrCat("program edge { constants { state \"w\": ", weight,
                         " } graph(%w: ", weight, " parameter \"w\", %x: ", images,
                         " user_input) { %y: f32[1,", row.weight.substr(0, 2), row.input.substr(2),
                         "] = edge.aten.convolution.default(%x, %w, none, [", row.rest,
                         "], 1) return (%y user_output) } }"),
            CpuPassTestOps()));
    ASSERT_OK(LowerConv2d(nullptr, row.winograd).run(program));
    const exir::Graph& graph = program.top();
    EXPECT_EQ(graph.node(*graph.nodes().begin()).target->op(), row.op) << row.input << row.weight;
    EXPECT_THAT(exir::PrintProgram(program), testing::HasSubstr(row.packed));
  }
}

// Padding with ones, of channels, or negative stays.
TEST(LowerConv2d, KeepsOtherPadding) {
  constexpr std::string_view kPrograms[] = {
      R"(program edge {
    constants { state "w": f32[5,20,3,3] }
    graph(%w: f32[5,20,3,3] parameter "w", %x: f32[1,20,8,8] user_input) {
      %p: f32[1,20,10,10] = edge.aten.constant_pad_nd.default(%x, [1,1,1,1], 1.0)
      %y: f32[1,5,8,8] = edge.aten.convolution.default(%p, %w, none, [1], [0], [1], false, [0], 1)
      return (%y user_output) } })",
      R"(program edge {
    constants { state "w": f32[5,22,3,3] }
    graph(%w: f32[5,22,3,3] parameter "w", %x: f32[1,20,8,8] user_input) {
      %p: f32[1,22,8,8] = edge.aten.constant_pad_nd.default(%x, [0,0,0,0,1,1], 0.0)
      %y: f32[1,5,6,6] = edge.aten.convolution.default(%p, %w, none, [1], [0], [1], false, [0], 1)
      return (%y user_output) } })",
      R"(program edge {
    constants { state "w": f32[5,20,3,3] }
    graph(%w: f32[5,20,3,3] parameter "w", %x: f32[1,20,8,8] user_input) {
      %p: f32[1,20,10,8] = edge.aten.constant_pad_nd.default(%x, [-1,1,1,1], 0.0)
      %y: f32[1,5,8,6] = edge.aten.convolution.default(%p, %w, none, [1], [0], [1], false, [0], 1)
      return (%y user_output) } })",
      // Their sum exceeds 2^24.
      R"(program edge {
    constants { state "w": f32[5,20,3,3] }
    graph(%w: f32[5,20,3,3] parameter "w", %x: f32[1,20,8,8] user_input) {
      %p: f32[1,20,8,9] = edge.aten.constant_pad_nd.default(%x, [1,0], 0.0)
      %y: f32[1,5,6,33554439] = edge.aten.convolution.default(%p, %w, none, [1], [0,16777216], [1], false, [0], 1)
      return (%y user_output) } })"};
  for (std::string_view text : kPrograms) {
    ASSERT_OK_AND_ASSIGN(exir::ExportedProgram program, exir::ParseProgram(text, CpuPassTestOps()));
    ASSERT_OK(LowerConv2d().run(program));
    EXPECT_THAT(exir::PrintProgram(program), testing::HasSubstr("belay_cpu.conv2d"));
    EXPECT_THAT(exir::PrintProgram(program), testing::HasSubstr("constant_pad_nd"));
  }
}

TEST(LowerConv2d, LowersDepthwise) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[20,1,3,3] }
    graph(%w: f32[20,1,3,3] parameter "w", %x: f32[1,20,9,9] user_input) {
      %y: f32[1,20,9,9] = edge.aten.convolution.default(%x, %w, none, [1], [1], [1], false, [0], 20)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed0": f32[288] }
    graph(%w_packed0: f32[288] tensor_constant "w_packed0", %x: f32[1,20,9,9] user_input) {
      %y: f32[1,20,9,9] = backend.belay_cpu.depthwise_conv2d.default(%x, %w_packed0, none, none, [3,3], [1,1], [1,1], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// Of narrow groups: filters as depthwise weights, for several filters of a channel, too.
TEST(LowerConv2d, PacksNarrowGroupsAndMultipliers) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[8,2,1,1] state "v": f32[8,1,1,1] }
    graph(%w: f32[8,2,1,1] parameter "w", %v: f32[8,1,1,1] parameter "v",
          %x: f32[1,4,9,9] user_input) {
      %y: f32[1,8,9,9] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 2)
      %z: f32[1,8,9,9] = edge.aten.convolution.default(%x, %v, none, [1,1], [0,0], [1,1], false, [0,0], 4)
      return (%y user_output, %z user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "v_packed0": f32[16] constant "w_packed0": f32[32] }
    graph(%w_packed0: f32[32] tensor_constant "w_packed0",
          %v_packed0: f32[16] tensor_constant "v_packed0", %x: f32[1,4,9,9] user_input) {
      %y: f32[1,8,9,9] = backend.belay_cpu.convolution.default(%x, %w_packed0, none, none, 8, 2, false, [1,1], [1,1], [0,0], [0,0], [1,1], "none", "add", -inf, inf)
      %z: f32[1,8,9,9] = backend.belay_cpu.convolution.default(%x, %v_packed0, none, none, 8, 4, false, [1,1], [1,1], [0,0], [0,0], [1,1], "none", "add", -inf, inf)
      return (%y user_output, %z user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, DoesNotLowerOtherRanks) {
  ExpectLeft(R"(program edge {
    constants { state "v": f32[4,4,1] }
    graph(%v: f32[4,4,1] parameter "v", %l: f32[1,4,9] user_input) {
      %z: f32[1,4,9] = edge.aten.convolution.default(%l, %v, none, [1], [0], [1], false, [0], 1)
      return (%z user_output) } })");
}

TEST(LowerConv2d, DoesNotLowerComputedWeights) {
  ExpectLeft(R"(program edge {
    graph(%w: f32[4,4,1,1] user_input, %x: f32[1,4,9,9] user_input) {
      %y: f32[1,4,9,9] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      return (%y user_output) } })");
}

TEST(LowerConv2d, DoesNotLowerInfiniteWeights) {
  constexpr std::string_view kProgram = R"(program edge {
    constants { state "w": f32[4,4,1,1] }
    graph(%w: f32[4,4,1,1] parameter "w", %x: f32[1,4,9,9] user_input) {
      %y: f32[1,4,9,9] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      return (%y user_output) } })";
  for (float number :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    ExpectLeftAsItIs(kProgram, LowerConv2d().run, {.f32 = number});
  }
}

// The weight is packed in taps; padding equals the zero point.
TEST(LowerConv2d, LowersToQuantizedConv2d) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": i8[20,9,3,3] state "b": f32[20] state "v": i8[20,1,3,3] }
    graph(%w: i8[20,9,3,3] parameter "w", %b: f32[20] parameter "b",
          %v: i8[20,1,3,3] parameter "v", %x: u8[1,9,8,8] user_input) {
      %p: u8[1,9,9,9] = edge.aten.constant_pad_nd.default(%x, [0,1,0,1], 7)
      %d: f32[1,9,9,9] = edge.quantized_decomposed.dequantize_per_tensor.default(%p, 0.5, 7, 0, 255, dtype:u8)
      %c: f32[20,9,3,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, dtype:i8)
      %y: f32[1,20,4,4] = edge.aten.convolution.default(%d, %c, %b, [2,2], [0,0], [1,1], false, [0,0], 1)
      %q: u8[1,20,4,4] = edge.quantized_decomposed.quantize_per_tensor.default(%y, 0.5, 3, 0, 255, dtype:u8)
      %e: f32[1,20,4,4] = edge.quantized_decomposed.dequantize_per_tensor.default(%q, 0.5, 3, 0, 255, dtype:u8)
      %f: f32[20,1,3,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%v, 0.75, 0, -127, 127, dtype:i8)
      %z: f32[1,20,4,4] = edge.aten.convolution.default(%e, %f, none, [1,1], [1,1], [1,1], false, [0,0], 20)
      return (%z user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { state "b": f32[20] constant "v_packed0": i8[768] constant "v_scales0": f32[20]
                constant "v_sums0": i32[20] constant "w_packed0": i8[3456]
                constant "w_scales0": f32[20] constant "w_sums0": i32[20] }
    graph(%b: f32[20] parameter "b", %w_packed0: i8[3456] tensor_constant "w_packed0",
          %w_scales0: f32[20] tensor_constant "w_scales0",
          %w_sums0: i32[20] tensor_constant "w_sums0",
          %v_packed0: i8[768] tensor_constant "v_packed0",
          %v_scales0: f32[20] tensor_constant "v_scales0",
          %v_sums0: i32[20] tensor_constant "v_sums0", %x: u8[1,9,8,8] user_input) {
      %y: f32[1,20,4,4] = backend.belay_cpu.quantized_conv2d.default(%x, %w_packed0, %w_scales0, %w_sums0, %b, 20, [3,3], [2,2], [0,0,1,1], [1,1], 7, "none", -inf, inf, none, [], none, [])
      %q: u8[1,20,4,4] = edge.quantized_decomposed.quantize_per_tensor.default(%y, 0.5, 3, 0, 255, dtype:u8)
      %z: f32[1,20,4,4] = backend.belay_cpu.quantized_depthwise_conv2d.default(%q, %v_packed0, %v_scales0, %v_sums0, none, [3,3], [1,1], [1,1], [1,1], 3, "none", -inf, inf, none, [], none, [])
      return (%z user_output) } })",
                      CpuPassTestOps());
}

// The second convolution has too few channels for an integer kernel.
TEST(LowerConv2d, LowersGroupsOfBytesToQuantizedGroupedConv2d) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": i8[16,4,3,3] state "v": i8[4,2,3,3] }
    graph(%w: i8[16,4,3,3] parameter "w", %v: i8[4,2,3,3] parameter "v",
          %x: u8[1,8,8,8] user_input, %u: u8[1,4,8,8] user_input) {
      %d: f32[1,8,8,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 7, 0, 255, dtype:u8)
      %c: f32[16,4,3,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, dtype:i8)
      %y: f32[1,16,8,8] = edge.aten.convolution.default(%d, %c, none, [1,1], [1,1], [1,1], false, [0,0], 2)
      %e: f32[1,4,8,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%u, 0.5, 7, 0, 255, dtype:u8)
      %f: f32[4,2,3,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%v, 0.25, 0, -127, 127, dtype:i8)
      %z: f32[1,4,8,8] = edge.aten.convolution.default(%e, %f, none, [1,1], [1,1], [1,1], false, [0,0], 2)
      return (%y user_output, %z user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "v_f32_0": f32[4,2,3,3] constant "w_packed0": i8[1152]
                constant "w_scales0": f32[16] constant "w_sums0": i32[16] }
    graph(%w_packed0: i8[1152] tensor_constant "w_packed0",
          %w_scales0: f32[16] tensor_constant "w_scales0",
          %w_sums0: i32[16] tensor_constant "w_sums0",
          %v_f32_0: f32[4,2,3,3] tensor_constant "v_f32_0", %x: u8[1,8,8,8] user_input,
          %u: u8[1,4,8,8] user_input) {
      %y: f32[1,16,8,8] = backend.belay_cpu.quantized_grouped_conv2d.default(%x, %w_packed0, %w_scales0, %w_sums0, none, 16, 2, [3,3], [1,1], [1,1], [1,1], 7, "none", -inf, inf, none, [], none, [])
      %e: f32[1,4,8,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%u, 0.5, 7, 0, 255, dtype:u8)
      %z: f32[1,4,8,8] = edge.aten.convolution.default(%e, %v_f32_0, none, [1,1], [1,1], [1,1], false, [0,0], 2)
      return (%y user_output, %z user_output) } })",
                      CpuPassTestOps());
}

// Few channels: one tap per window row. Padding with another value stays.
TEST(LowerConv2d, PacksFewInt8ChannelsByWindowRows) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": i8[20,3,3,3] }
    graph(%w: i8[20,3,3,3] parameter "w", %x: u8[1,3,8,8] user_input) {
      %p: u8[1,3,9,9] = edge.aten.constant_pad_nd.default(%x, [0,1,0,1], 6)
      %d: f32[1,3,9,9] = edge.quantized_decomposed.dequantize_per_tensor.default(%p, 0.5, 7, 0, 255, dtype:u8)
      %c: f32[20,3,3,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, dtype:i8)
      %y: f32[1,20,7,7] = edge.aten.convolution.default(%d, %c, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed0": i8[1152] constant "w_scales0": f32[20]
                constant "w_sums0": i32[20] }
    graph(%w_packed0: i8[1152] tensor_constant "w_packed0",
          %w_scales0: f32[20] tensor_constant "w_scales0",
          %w_sums0: i32[20] tensor_constant "w_sums0", %x: u8[1,3,8,8] user_input) {
      %p: u8[1,3,9,9] = edge.aten.constant_pad_nd.default(%x, [0,1,0,1], 6)
      %y: f32[1,20,7,7] = backend.belay_cpu.quantized_conv2d.default(%p, %w_packed0, %w_scales0, %w_sums0, none, 20, [3,3], [1,1], [0,0], [1,1], 7, "none", -inf, inf, none, [], none, [])
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// The same bytes in different packed layouts are different constants.
TEST(LowerConv2d, PacksSharedFiltersPerUser) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f32[24,1,3,3] }
    graph(%w: f32[24,1,3,3] parameter "w", %x: f32[1,1,9,9] user_input,
          %z: f32[1,24,9,9] user_input) {
      %a: f32[1,24,7,7] = edge.aten.convolution.default(%x, %w, none, [1], [0], [1], false, [0], 1)
      %b: f32[1,24,7,7] = edge.aten.convolution.default(%z, %w, none, [1], [0], [1], false, [0], 24)
      %c: f32[1,24,5,5] = edge.aten.convolution.default(%x, %w, none, [1], [0], [2], false, [0], 1)
      return (%a user_output, %b user_output, %c user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed0": f32[288] constant "w_packed1": f32[288] }
    graph(%w_packed0: f32[288] tensor_constant "w_packed0",
          %w_packed1: f32[288] tensor_constant "w_packed1", %x: f32[1,1,9,9] user_input,
          %z: f32[1,24,9,9] user_input) {
      %a: f32[1,24,7,7] = backend.belay_cpu.conv2d.default(%x, %w_packed0, none, none, 24, [3,3], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %b: f32[1,24,7,7] = backend.belay_cpu.depthwise_conv2d.default(%z, %w_packed1, none, none, [3,3], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %c: f32[1,24,5,5] = backend.belay_cpu.conv2d.default(%x, %w_packed0, none, none, 24, [3,3], [1,1], [0,0], [2,2], "none", "add", -inf, inf)
      return (%a user_output, %b user_output, %c user_output) } })",
                      CpuPassTestOps());
}

// With few channels, window rows are dense unless dilated.
TEST(LowerConv2d, PacksSharedInt8FiltersByWindow) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": i8[8,3,3,3] }
    graph(%w: i8[8,3,3,3] parameter "w", %x: u8[1,3,9,9] user_input) {
      %d: f32[1,3,9,9] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %f: f32[8,3,3,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, dtype:i8)
      %a: f32[1,8,7,7] = edge.aten.convolution.default(%d, %f, none, [1], [0], [1], false, [0], 1)
      %b: f32[1,8,5,5] = edge.aten.convolution.default(%d, %f, none, [1], [0], [2], false, [0], 1)
      %c: f32[1,8,5,7] = edge.aten.convolution.default(%d, %f, none, [1], [0], [2,1], false, [0], 1)
      return (%a user_output, %b user_output, %c user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed0": i8[576] constant "w_packed1": i8[576]
                constant "w_scales0": f32[8] constant "w_sums0": i32[8] }
    graph(%w_packed0: i8[576] tensor_constant "w_packed0",
          %w_scales0: f32[8] tensor_constant "w_scales0",
          %w_sums0: i32[8] tensor_constant "w_sums0",
          %w_packed1: i8[576] tensor_constant "w_packed1", %x: u8[1,3,9,9] user_input) {
      %a: f32[1,8,7,7] = backend.belay_cpu.quantized_conv2d.default(%x, %w_packed0, %w_scales0, %w_sums0, none, 8, [3,3], [1,1], [0,0], [1,1], 3, "none", -inf, inf, none, [], none, [])
      %b: f32[1,8,5,5] = backend.belay_cpu.quantized_conv2d.default(%x, %w_packed1, %w_scales0, %w_sums0, none, 8, [3,3], [1,1], [0,0], [2,2], 3, "none", -inf, inf, none, [], none, [])
      %c: f32[1,8,5,7] = backend.belay_cpu.quantized_conv2d.default(%x, %w_packed0, %w_scales0, %w_sums0, none, 8, [3,3], [1,1], [0,0], [2,1], 3, "none", -inf, inf, none, [], none, [])
      return (%a user_output, %b user_output, %c user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, PacksBFloat16AsVnni2) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": bf16[8,10,3,3] state "b": bf16[8] }
    graph(%w: bf16[8,10,3,3] parameter "w", %b: bf16[8] parameter "b", %x: bf16[1,10,9,9] user_input) {
      %y: bf16[1,8,9,9] = edge.aten.convolution.default(%x, %w, %b, [1,1], [1,1], [1,1], false, [0,0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "b_bias0": f32[8] constant "w_packed_pairs_0": bf16[2880] }
    graph(%b_bias0: f32[8] tensor_constant "b_bias0",
          %w_packed_pairs_0: bf16[2880] tensor_constant "w_packed_pairs_0", %x: bf16[1,10,9,9] user_input) {
      %y: bf16[1,8,9,9] = backend.belay_cpu.bfloat16_conv2d.default(%x, %w_packed_pairs_0, %b_bias0, none, 8, [3,3], [1,1], [1,1], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, WidensDepthwiseFiltersOfBFloat16) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": bf16[20,1,3,3] state "b": bf16[20] }
    graph(%w: bf16[20,1,3,3] parameter "w", %b: bf16[20] parameter "b", %x: bf16[1,20,9,9] user_input) {
      %y: bf16[1,20,9,9] = edge.aten.convolution.default(%x, %w, %b, [1,1], [1,1], [1,1], false, [0,0], 20)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "b_bias0": f32[20] constant "w_packed0": f32[288] }
    graph(%b_bias0: f32[20] tensor_constant "b_bias0", %w_packed0: f32[288] tensor_constant "w_packed0",
          %x: bf16[1,20,9,9] user_input) {
      %y: bf16[1,20,9,9] = backend.belay_cpu.bfloat16_depthwise_conv2d.default(%x, %w_packed0, %b_bias0, none, [3,3], [1,1], [1,1], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerConv2d, PacksGroupsPhasesAndVolumesOfBFloat16) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": bf16[32,16,3,3] }
    graph(%w: bf16[32,16,3,3] parameter "w", %x: bf16[1,32,9,9] user_input) {
      %y: bf16[1,32,9,9] = edge.aten.convolution.default(%x, %w, none, [1,1], [1,1], [1,1], false, [0,0], 2)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed_pairs_0": bf16[4608] }
    graph(%w_packed_pairs_0: bf16[4608] tensor_constant "w_packed_pairs_0", %x: bf16[1,32,9,9] user_input) {
      %y: bf16[1,32,9,9] = backend.belay_cpu.bfloat16_convolution.default(%x, %w_packed_pairs_0, none, none, 32, 2, false, [3,3], [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": bf16[8,20,2,2] state "b": bf16[20] }
    graph(%w: bf16[8,20,2,2] parameter "w", %b: bf16[20] parameter "b", %x: bf16[1,8,9,9] user_input) {
      %y: bf16[1,20,18,18] = edge.aten.convolution.default(%x, %w, %b, [2,2], [0,0], [1,1], true, [0,0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "b_bias0": f32[20] constant "w_packed_pairs_0": bf16[1024] }
    graph(%b_bias0: f32[20] tensor_constant "b_bias0",
          %w_packed_pairs_0: bf16[1024] tensor_constant "w_packed_pairs_0", %x: bf16[1,8,9,9] user_input) {
      %y: bf16[1,20,18,18] = backend.belay_cpu.bfloat16_convolution.default(%x, %w_packed_pairs_0, %b_bias0, none, 20, 1, true, [2,2], [2,2], [0,0], [0,0], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": bf16[8,3,1,3,3] }
    graph(%w: bf16[8,3,1,3,3] parameter "w", %x: bf16[1,3,4,9,9] user_input) {
      %y: bf16[1,8,4,7,7] = edge.aten.convolution.default(%x, %w, none, [1,1,1], [0,0,0], [1,1,1], false, [0,0,0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed_pairs_0": bf16[1152] }
    graph(%w_packed_pairs_0: bf16[1152] tensor_constant "w_packed_pairs_0", %x: bf16[1,3,4,9,9] user_input) {
      %y: bf16[1,8,4,7,7] = backend.belay_cpu.bfloat16_convolution.default(%x, %w_packed_pairs_0, none, none, 8, 1, false, [1,3,3], [1,1,1], [0,0,0], [0,0,0], [1,1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// Few channels are padded with zeros to an even number: filters of 3 channels have the size of 4.
TEST(LowerConv2d, PadsFewBFloat16ChannelsWithZeros) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": bf16[8,3,3,3] }
    graph(%w: bf16[8,3,3,3] parameter "w", %x: bf16[1,3,9,9] user_input) {
      %y: bf16[1,8,7,7] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      return (%y user_output) } })",
                      LowerConv2d().run, R"(program edge {
    constants { constant "w_packed_pairs_0": bf16[1152] }
    graph(%w_packed_pairs_0: bf16[1152] tensor_constant "w_packed_pairs_0", %x: bf16[1,3,9,9] user_input) {
      %y: bf16[1,8,7,7] = backend.belay_cpu.bfloat16_conv2d.default(%x, %w_packed_pairs_0, none, none, 8, [3,3], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// WidenProducts converts them later.
TEST(LowerConv2d, DoesNotLowerBFloat16WithoutKernel) {
  const auto text = [](int channels, int per_group, int groups, std::string_view weight = "state") {
    return absl::StrCat("program edge { constants { ", weight, " \"w\": bf16[16,", per_group,
                        ",1,1] } graph(%w: bf16[16,", per_group, ",1,1] ",
                        weight == "state" ? "parameter" : "tensor_constant", " \"w\", %x: bf16[1,",
                        channels,
                        ",9,9] user_input, %b: bf16[16] user_input) { %y: bf16[1,16,9,9] = "
                        "edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, "
                        "[0,0], ",
                        groups, ") return (%y user_output) } }");
  };
  ExpectLeft(text(9, 9, 1));   // odd
  ExpectLeft(text(16, 4, 4));  // narrow groups
  ExpectLeft(R"(program edge {
    constants { state "w": bf16[16,8,1,1] }
    graph(%w: bf16[16,8,1,1] parameter "w", %x: bf16[1,8,9,9] user_input, %b: bf16[16] user_input) {
      %y: bf16[1,16,9,9] = edge.aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], false, [0,0], 1)
      return (%y user_output) } })");
}

}  // namespace
}  // namespace belay::cpu
