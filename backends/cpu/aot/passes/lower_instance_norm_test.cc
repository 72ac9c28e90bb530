#include "backends/cpu/aot/passes/lower_instance_norm.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

// A norm of images of these sizes that returns its result `returned`.
std::string Program(std::string_view sizes, std::string_view returned = "y") {
  return absl::StrCat("program edge { ranges { s0: [1,9] } graph(%w: f32[4] user_input, %x: f32[",
                      sizes, "] user_input) { %y: f32[", sizes, R"(], %a: f32[4], %b: f32[4] =
          edge.aten._native_batch_norm_legit.no_stats(%x, %w, none, true, 0.1, 0.25)
      return (%)",
                      returned, " user_output) } }");
}

TEST(LowerInstanceNorm, BecomesAGroupNorm) {
  exir::ExpectRewrite(Program("1,4,5,6"), LowerInstanceNorm().run, R"(program edge {
    ranges { s0: [1,9] }
    graph(%w: f32[4] user_input, %x: f32[1,4,5,6] user_input) {
      %y: f32[1,4,5,6], %a: f32[1,4], %b: f32[1,4] =
          edge.aten.native_group_norm.default(%x, %w, none, 1, 4, 30, 4, 0.25)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerInstanceNorm, KeepsSeveralSamplesAndUnknownSizes) {
  for (std::string_view sizes : {"2,4,5,6", "1,4,s0,6"}) {
    exir::ExpectUnchanged(Program(sizes), LowerInstanceNorm().run, CpuPassTestOps());
  }
}

TEST(LowerInstanceNorm, KeepsSavedStatisticsThatAreUsed) {
  exir::ExpectUnchanged(Program("1,4,5,6", "a"), LowerInstanceNorm().run, CpuPassTestOps());
}

}  // namespace
}  // namespace belay::cpu
