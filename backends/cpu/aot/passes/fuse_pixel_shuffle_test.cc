#include "backends/cpu/aot/passes/fuse_pixel_shuffle.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

class FusePixelShuffleTest : public ::testing::Test {
 protected:
  FusedHandles handles_;
  exir::Pass pass_ = FusePixelShuffle(handles_);
};

TEST_F(FusePixelShuffleTest, FusesShuffles) {
  exir::ExpectRewrite(R"(program edge { graph(%x: i8[1,12,s0,5] user_input) {
      %a: i8[1,3,2,2,s0,5] = edge.aten.view_copy.default(%x, [1,3,2,2,-1,5])
      %b: i8[1,3,s0,2,5,2] = edge.aten.permute_copy.default(%a, [0,1,4,2,-1,3])
      %y: i8[1,3,2*s0,10] = edge.aten.view_copy.default(%b, [1,3,-1,10])
      return (%y user_output) } })",
                      pass_.run, R"(program edge { graph(%x: i8[1,12,s0,5] user_input) {
      %y: i8[1,3,2*s0,10] = edge.aten.pixel_shuffle.default(%x, 2)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST_F(FusePixelShuffleTest, FusesUnshuffles) {
  exir::ExpectRewrite(R"(program edge { graph(%x: f32[2,3,6,9] user_input) {
      %a: f32[2,3,2,3,3,3] = edge.aten.view_copy.default(%x, [2,3,2,3,3,3])
      %b: f32[2,3,3,3,2,3] = edge.aten.permute_copy.default(%a, [0,1,3,5,2,4])
      %y: f32[2,27,2,3] = edge.aten.view_copy.default(%b, [2,27,2,3])
      return (%y user_output) } })",
                      pass_.run, R"(program edge { graph(%x: f32[2,3,6,9] user_input) {
      %y: f32[2,27,2,3] = edge.aten.pixel_unshuffle.default(%x, 3)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// Other permutations, blocks that are not square, other results, and a view with another user.
TEST_F(FusePixelShuffleTest, LeavesOtherViews) {
  constexpr std::string_view kOutput = "%y user_output";
  const auto program = [](std::string_view parts, std::string_view dims, std::string_view moved,
                          std::string_view result, std::string_view outputs) {
    return absl::StrCat("program edge { graph(%x: f32[1,16,6,4] user_input) { %a: f32", parts,
                        " = edge.aten.view_copy.default(%x, ", parts, ") %b: f32", moved,
                        " = edge.aten.permute_copy.default(%a, ", dims, ") %y: f32", result,
                        " = edge.aten.view_copy.default(%b, ", result, ") return (", outputs,
                        ") } }");
  };
  for (const std::string& text :
       {program("[1,4,2,2,6,4]", "[0,1,4,3,5,2]", "[1,4,6,2,4,2]", "[1,4,12,8]", kOutput),
        program("[1,2,2,4,6,4]", "[0,1,4,2,5,3]", "[1,2,6,2,4,4]", "[1,2,12,16]", kOutput),
        program("[1,4,2,2,6,4]", "[0,1,4,2,5,3]", "[1,4,6,2,4,2]", "[1,4,8,12]", kOutput),
        program("[1,4,2,2,6,4]", "[0,1,4,2,5,3]", "[1,4,6,2,4,2]", "[1,4,12,8]",
                "%y user_output, %a user_output")}) {
    SCOPED_TRACE(text);
    exir::ExpectUnchanged(text, pass_.run, CpuPassTestOps());
  }
}

}  // namespace
}  // namespace belay::cpu
