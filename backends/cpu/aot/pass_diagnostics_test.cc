#include "backends/cpu/aot/pass_diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/fused_handles.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "backends/cpu/aot/passes/cpu_passes.h"
#include "exir/pass_manager/pass_manager.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

using ::testing::HasSubstr;

// Returns the diagnostics of all passes for a program with these constants, which are zeros or
// `numbers`, more inputs and this graph.
std::string DiagnosticsOf(std::string_view constants, std::string_view inputs,
                          std::string_view body,
                          const std::optional<Numbers>& numbers = std::nullopt) {
  exir::ExportedProgram program =
      exir::ParseOrDie(absl::StrCat("program edge { constants { ", constants, " } graph(", inputs,
                                    ") { ", body, " return (%y user_output) } }"),
                       CpuPassTestOps());
  if (numbers.has_value()) Fill(program, *numbers);
  FusedHandles handles;
  PassDiagnostics diagnostics;
  TiedTables tables;
  tables.AddTablesOf(program);
  absl::StatusOr<exir::ExportedProgram> lowered = exir::RunPasses(
      std::move(program),
      CpuPasses(Precision::kAuto, handles, diagnostics, tables, /*has_dynamic_sizes=*/true));
  return lowered.ok() ? diagnostics.Text(*lowered) : lowered.status().ToString();
}

TEST(PassDiagnosticsTest, ReportsMatmuls) {
  EXPECT_EQ(
      DiagnosticsOf(
          R"(state "w": f32[8,4])",
          R"(%w: f32[8,4] parameter "w", %x: f32[2,4] user_input, %z: f32[8,3] user_input)",
          R"(%t: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0])
                    %m: f32[2,8] = edge.aten.mm.default(%x, %t)
                    %y: f32[2,3] = edge.aten.mm.default(%m, %z))"),
      "m: linear, weight of 4 x 8 packed as float32\n"
      "y: edge.aten.mm.default not lowered: its right side is not constant, so it is not packed\n");
  EXPECT_EQ(
      DiagnosticsOf(
          R"(state "w": f32[4,8] state "b": f32[8])",
          R"(%w: f32[4,8] parameter "w", %b: f32[8] parameter "b", %x: f32[2,4] user_input)",
          R"(%y: f32[2,8] = edge.aten.addmm.default(%b, %x, %w, beta=2.0))"),
      "y: edge.aten.addmm.default not lowered: its bias is not a row, or alpha or beta is not 1\n");
}

TEST(PassDiagnosticsTest, ReportsWeightOnlyMatmuls) {
  constexpr std::string_view kInputs =
      R"(%w: i8[8,32] parameter "w", %s: f32[8,2] parameter "s", %x: f32[2,32] user_input)";
  const auto body = [](int group) {
    return absl::StrCat(
        "%d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, "
        "none, -8, 7, dtype:i8, ",
        group, R"(, dtype:f32)
        %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
        %y: f32[2,8] = edge.aten.mm.default(%x, %t))");
  };
  constexpr Numbers kNumbers = {.i8 = 3};
  constexpr std::string_view kState = R"(state "w": i8[8,32] state "s": f32[8,2])";
  EXPECT_THAT(
      DiagnosticsOf(kState, kInputs, body(16), kNumbers),
      HasSubstr("y: weight_only_linear, weight of 32 x 8 packed as int4 in groups of 16\n"));
  // A group of all rows is not reported as a group.
  EXPECT_THAT(DiagnosticsOf(R"(state "w": i8[8,32] state "s": f32[8,1])",
                            R"(%w: i8[8,32] parameter "w", %s: f32[8,1] parameter "s",
                      %x: f32[2,32] user_input)",
                            body(32), kNumbers),
              HasSubstr("y: weight_only_linear, weight of 32 x 8 packed as int4\n"));
  // No kernel supports scales per row.
  EXPECT_THAT(
      DiagnosticsOf(
          R"(state "w": i8[8,32] state "s": f32[8])",
          R"(%w: i8[8,32] parameter "w", %s: f32[8] parameter "s", %x: f32[2,8] user_input)",
          R"(%d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
              %y: f32[2,32] = edge.aten.mm.default(%x, %d))",
          kNumbers),
      HasSubstr(
          "y: edge.aten.mm.default not lowered: its right side is quantized, but no quantized "
          "kernel supports both sides\n"));
}

TEST(PassDiagnosticsTest, ReportsConvolutions) {
  constexpr std::string_view kState = R"(state "w": f32[8,2,3,3])";
  constexpr std::string_view kInputs =
      R"(%w: f32[8,2,3,3] parameter "w", %x: f32[1,4,9,9] user_input)";
  EXPECT_EQ(
      DiagnosticsOf(
          R"(state "w": f32[8,4,3,3])",
          R"(%w: f32[8,4,3,3] parameter "w", %x: f32[1,4,9,9] user_input)",
          R"(%y: f32[1,8,7,7] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 1))"),
      "y: conv2d, filters of 8 x 4 x 3 x 3 packed as float32\n"
      "contiguous: copies f32[1,8,7,7]{strides=[392,1,56,8]} to be contiguous for the result\n");
  EXPECT_EQ(
      DiagnosticsOf(
          kState, kInputs,
          R"(%y: f32[1,8,7,7] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], false, [0,0], 2))"),
      "y: convolution, filters of 8 x 2 x 3 x 3 in 2 groups packed as float32\n"
      "channels_last: copies f32[1,4,9,9] to channels last for y\n"
      "contiguous: copies f32[1,8,7,7]{strides=[392,1,56,8]} to be contiguous for the result\n");
  EXPECT_EQ(
      DiagnosticsOf(
          R"(state "w": f32[4,2,3,3])",
          R"(%w: f32[4,2,3,3] parameter "w", %x: f32[1,4,9,9] user_input)",
          R"(%y: f32[1,2,11,11] = edge.aten.convolution.default(%x, %w, none, [1,1], [0,0], [1,1], true, [0,0], 1))"),
      "y: transposed convolution, filters of 4 x 2 x 3 x 3 in 1 group packed as float32\n"
      "channels_last: copies f32[1,4,9,9] to channels last for y\n"
      "contiguous: copies f32[1,2,11,11]{strides=[242,1,22,2]} to be contiguous for the result\n");
}

// Of three convolutions the second intermediate result, of 512 KiB, is fused, the first is not.
TEST(PassDiagnosticsTest, ReportsChains) {
  const auto convolution = [](std::string_view name, std::string_view input, int out_channels) {
    return absl::StrCat("%", name, ": f32[1,", out_channels, ",64,64] = edge.aten.convolution.",
                        "default(%", input, ", %w", name,
                        ", none, [1,1], [0,0], [1,1], false, [0,0], 1)\n");
  };
  const std::string said = DiagnosticsOf(
      R"(state "a": f32[16,32,1,1] state "b": f32[32,16,1,1] state "y": f32[16,32,1,1])",
      R"(%wa: f32[16,32,1,1] parameter "a", %wb: f32[32,16,1,1] parameter "b",
         %wy: f32[16,32,1,1] parameter "y", %x: f32[1,32,64,64] user_input)",
      absl::StrCat(convolution("a", "x", 16), convolution("b", "a", 32),
                   convolution("y", "b", 16)));
  EXPECT_EQ(
      said,
      "a: conv2d, filters of 16 x 32 x 1 x 1 packed as float32\n"
      "b: conv2d, filters of 32 x 16 x 1 x 1 packed as float32\n"
      "y: conv2d, filters of 16 x 32 x 1 x 1 packed as float32\n"
      "channels_last: copies f32[1,32,64,64] to channels last for a\n"
      "contiguous: copies f32[1,16,64,64]{strides=[65536,1,1024,16]} to be contiguous for the "
      "result\n"
      "a: no chain with b: the intermediate result of 256 KiB stays in the cache; the minimum is "
      "512 KiB\n"
      "y: conv2d_chain of b, y: intermediate results of 512 KiB are kept a few rows at a time\n");
}

TEST(PassDiagnosticsTest, ReportsChainsWithLargeWeights) {
  const std::string said = DiagnosticsOf(
      R"(state "a": f32[512,256,1,1] state "y": f32[16,512,1,1])",
      R"(%wa: f32[512,256,1,1] parameter "a", %wy: f32[16,512,1,1] parameter "y",
              %x: f32[1,256,32,32] user_input)",
      R"(%a: f32[1,512,32,32] = edge.aten.convolution.default(%x, %wa, none, [1,1], [0,0], [1,1], false, [0,0], 1)
              %y: f32[1,16,32,32] = edge.aten.convolution.default(%a, %wy, none, [1,1], [0,0], [1,1], false, [0,0], 1))");
  EXPECT_THAT(said,
              HasSubstr("a: no chain with y: every few rows would reread a weight of 512 KiB; "
                        "the limit is 256 KiB\n"));
}

TEST(PassDiagnosticsTest, ReportsAttention) {
  constexpr std::string_view kInputs =
      "%q: f32[2,5,8] user_input, %k: f32[2,6,8] user_input, %v: f32[2,6,7] user_input, "
      "%w: f32[2,6,7] user_input";
  const auto body = [](std::string_view more) {
    return absl::StrCat(R"(
        %t: f32[2,8,6] = edge.aten.permute_copy.default(%k, [0,2,1])
        %s: f32[2,5,6] = edge.aten.bmm.default(%q, %t)
        %p: f32[2,5,6] = edge.aten._softmax.default(%s, -1, false)
        %o: f32[2,5,7] = edge.aten.bmm.default(%p, %v) )",
                        more);
  };
  EXPECT_EQ(DiagnosticsOf("", kInputs, body("%y: f32[2,5,7] = edge.aten.abs.default(%o)")),
            "o: attention, f32[2,5,8] to f32[2,6,8]\n");
  EXPECT_EQ(
      DiagnosticsOf("", kInputs,
                    body("%r: f32[2,5,7] = edge.aten.bmm.default(%p, %w) "
                         "%y: f32[2,5,7] = edge.aten.add.Tensor(%o, %r)")),
      "s: edge.aten.bmm.default not lowered: its right side is not constant, so it is not packed\n"
      "o: edge.aten.bmm.default not lowered: attention not fused: its weights have other "
      "users\n"
      "r: edge.aten.bmm.default not lowered: attention not fused: its weights have other "
      "users\n");
}

TEST(PassDiagnosticsTest, ReportsTheLastReasonOfRemainingNodes) {
  const exir::ExportedProgram program = exir::ParseOrDie(
      R"(program edge { graph(%x: f32[2] user_input) {
          %a: f32[2] = edge.aten.abs.default(%x)
          %b: f32[2] = edge.aten.neg.default(%a)
          return (%b user_output) } })",
      CpuPassTestOps());
  PassDiagnostics diagnostics;
  diagnostics.RecordMiss("b", "first");
  diagnostics.RecordMiss("gone", "reason");
  diagnostics.RecordMiss("b", "second");
  diagnostics.RecordMiss("a", "other");
  diagnostics.RecordRewrite("gone", "was made");
  EXPECT_EQ(diagnostics.Text(program),
            "gone: was made\n"
            "a: edge.aten.abs.default not lowered: other\n"
            "b: edge.aten.neg.default not lowered: second\n");
}

TEST(PassDiagnosticsTest, FormatsBytes) {
  EXPECT_EQ(BytesText(1), "1 byte");
  EXPECT_EQ(BytesText(10239), "10239 bytes");
  EXPECT_EQ(BytesText(10240), "10 KiB");
}

}  // namespace
}  // namespace belay::cpu
