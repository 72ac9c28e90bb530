#include "backends/cpu/aot/passes/shuffle_transposed_conv2d.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

// `arguments`: stride, padding, dilation, transposed, output_padding, groups.
std::string Program(std::string_view weight, std::string_view result, std::string_view arguments) {
  return absl::StrCat("program edge { constants { state \"w\": ", weight, " } graph(%w: ", weight,
                      " parameter \"w\", %x: f32[2,32,5,4] user_input) { %y: ", result,
                      " = edge.aten.convolution.default(%x, %w, none, ", arguments,
                      ") return (%y user_output) } }");
}

TEST(ShuffleTransposedConv2d, ComputesPhasesAsChannels) {
  exir::ExpectRewrite(
      Program("f32[32,3,4,4]", "f32[2,3,10,8]", "[2,2], [1,1], [1,1], true, [0,0], 1"),
      ShuffleTransposedConv2d().run, R"(program edge {
    constants { constant "w_phases0": f32[12,32,3,3] }
    graph(%w_phases0: f32[12,32,3,3] tensor_constant "w_phases0", %x: f32[2,32,5,4] user_input) {
      %y_phases: f32[2,12,5,4] = edge.aten.convolution.default(%x, %w_phases0, none, [1,1], [1,1], [1,1], false, [0,0], 1)
      %y: f32[2,3,10,8] = edge.aten.pixel_shuffle.default(%y_phases, 2)
      return (%y user_output) } })",
      CpuPassTestOps());
}

TEST(ShuffleTransposedConv2d, ComputesMorePixelsForLargerResults) {
  exir::ExpectRewrite(
      Program("f32[32,3,4,4]", "f32[2,3,12,10]", "[2,2], [0,0], [1,1], true, [0,0], 1"),
      ShuffleTransposedConv2d().run, R"(program edge {
    constants { constant "w_phases0": f32[12,32,2,2] }
    graph(%w_phases0: f32[12,32,2,2] tensor_constant "w_phases0", %x: f32[2,32,5,4] user_input) {
      %y_phases: f32[2,12,6,5] = edge.aten.convolution.default(%x, %w_phases0, none, [1,1], [1,1], [1,1], false, [0,0], 1)
      %y: f32[2,3,12,10] = edge.aten.pixel_shuffle.default(%y_phases, 2)
      return (%y user_output) } })",
      CpuPassTestOps());
}

// Whole vectors of filters, results that would be sliced, dilation, groups, two strides, and a
// convolution that is not transposed.
TEST(ShuffleTransposedConv2d, LeavesOtherConvolutions) {
  for (const std::string& program :
       {Program("f32[32,16,4,4]", "f32[2,16,10,8]", "[2,2], [1,1], [1,1], true, [0,0], 1"),
        Program("f32[32,3,3,3]", "f32[2,3,10,8]", "[2,2], [1,1], [1,1], true, [1,1], 1"),
        Program("f32[32,3,2,2]", "f32[2,3,11,9]", "[2,2], [0,0], [2,2], true, [0,0], 1"),
        Program("f32[32,3,4,4]", "f32[2,6,10,8]", "[2,2], [1,1], [1,1], true, [0,0], 2"),
        Program("f32[32,3,2,2]", "f32[2,3,10,5]", "[2,1], [0,0], [1,1], true, [0,0], 1"),
        Program("f32[3,32,4,4]", "f32[2,3,2,2]", "[2,2], [1,1], [1,1], false, [0,0], 1")}) {
    SCOPED_TRACE(program);
    exir::ExpectUnchanged(program, ShuffleTransposedConv2d().run, CpuPassTestOps());
  }
}

}  // namespace
}  // namespace belay::cpu
