#include "backends/cpu/aot/static_quantization.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

using Kind = exir::QuantizationPattern::Kind;

// Whether a pattern of this kind accepts the node %y of the program.
bool Accepts(std::string_view node, Kind kind, std::string_view outputs = "%y user_output") {
  const exir::ExportedProgram program =
      exir::ParseOrDie(absl::StrCat(R"(program edge {
        constants { state "w": f32[8,2,3,3] state "d": f32[4,1,3,3] state "f": f32[8,4,3,3]
                    state "b": f32[8] state "m": f32[8,8] }
        graph(%w: f32[8,2,3,3] parameter "w", %d: f32[4,1,3,3] parameter "d",
              %f: f32[8,4,3,3] parameter "f", %b: f32[8] parameter "b", %m: f32[8,8] parameter "m",
              %x: f32[1,4,8,8] user_input, %z: f32[1,8,8,8] user_input, %u: f32[2,8] user_input) { )",
                                    absl::string_view(node.data(), node.size()), " return (",
                                    absl::string_view(outputs.data(), outputs.size()), ") } }"),
                       CpuPassTestOps());
  const exir::NodeId id = program.top().last();
  for (const auto& pattern : StaticQuantizationPatterns().patterns) {
    if (pattern.op != program.top().node(id).target->aten()->name() || pattern.kind != kind)
      continue;
    return !pattern.accepts || pattern.accepts(program, id);
  }
  return false;
}

TEST(StaticQuantizationTest, AcceptsConvolutionsWithIntegerKernels) {
  EXPECT_TRUE(
      Accepts("%y: f32[1,8,6,6] = edge.aten.convolution.default(%x, %f, %b, [1,1], [0,0], [1,1], "
              "false, [0,0], 1)",
              Kind::kAnchor));
  EXPECT_TRUE(
      Accepts("%y: f32[1,4,6,6] = edge.aten.convolution.default(%x, %d, none, [1,1], [0,0], [1,1], "
              "false, [0,0], 4)",
              Kind::kAnchor));
  EXPECT_FALSE(
      Accepts("%y: f32[1,8,6,6] = edge.aten.convolution.default(%x, %w, %b, [1,1], [0,0], [1,1], "
              "false, [0,0], 2)",
              Kind::kAnchor));
  EXPECT_TRUE(
      Accepts("%y: f32[1,8,6,6] = edge.aten.convolution.default(%z, %f, %b, [1,1], [0,0], [1,1], "
              "false, [0,0], 2)",
              Kind::kAnchor));
}

TEST(StaticQuantizationTest, RejectsScaledBiases) {
  EXPECT_TRUE(Accepts("%y: f32[2,8] = edge.aten.addmm.default(%b, %u, %m)", Kind::kAnchor));
  EXPECT_FALSE(
      Accepts("%y: f32[2,8] = edge.aten.addmm.default(%b, %u, %m, beta=2)", Kind::kAnchor));
  EXPECT_TRUE(Accepts("%y: f32[2,8] = edge.aten.add.Tensor(%u, %u)", Kind::kSum));
  EXPECT_FALSE(Accepts("%y: f32[2,8] = edge.aten.add.Tensor(%u, %u, alpha=2)", Kind::kSum));
}

TEST(StaticQuantizationTest, AcceptsMaxPoolsWithoutIndices) {
  constexpr char kPool[] =
      "%y: f32[1,4,4,4], %i: i64[1,4,4,4] = edge.aten.max_pool2d_with_indices.default(%x, [2,2], "
      "[2,2])";
  EXPECT_TRUE(Accepts(kPool, Kind::kMovement));
  EXPECT_FALSE(Accepts(kPool, Kind::kMovement, "%y user_output, %i user_output"));
}

}  // namespace
}  // namespace belay::cpu
