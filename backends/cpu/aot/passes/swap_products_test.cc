#include "backends/cpu/aot/passes/swap_products.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

class SwapProductsTest : public ::testing::Test {
 protected:
  void ExpectUnchanged(std::string_view inputs, std::string_view body, std::string_view outputs) {
    exir::ExpectUnchanged(absl::StrCat("program edge { ranges { s0: [1,9] } graph(", inputs, ") { ",
                                       body, " return (", outputs, ") } }"),
                          pass_.run, CpuPassTestOps());
  }

  FusedHandles handles_;
  exir::Pass pass_ = SwapProducts(handles_);
};

TEST_F(SwapProductsTest, TransposesFewRows) {
  exir::ExpectRewrite(
      R"(program edge { graph(%a: f32[4,64] user_input, %b: f32[100,64] user_input) {
      %t: f32[64,100] = edge.aten.permute_copy.default(%b, [1,0])
      %y: f32[4,100] = edge.aten.mm.default(%a, %t)
      return (%y user_output) } })",
      pass_.run,
      R"(program edge { graph(%a: f32[4,64] user_input, %b: f32[100,64] user_input) {
      %permute_copy: f32[64,4] = edge.aten.permute_copy.default(%a, [1,0])
      %mm: f32[100,4] = edge.aten.mm.default(%b, %permute_copy)
      %permute_copy_1: f32[4,100] = edge.aten.permute_copy.default(%mm, [1,0])
      return (%permute_copy_1 user_output) } })",
      CpuPassTestOps());
}

TEST_F(SwapProductsTest, ViewsSingleRows) {
  exir::ExpectRewrite(
      R"(program edge { graph(%a: f32[3,1,64] user_input, %b: f32[3,100,64] user_input) {
      %t: f32[3,64,100] = edge.aten.permute_copy.default(%b, [0,-1,1])
      %y: f32[3,1,100] = edge.aten.bmm.default(%a, %t)
      return (%y user_output) } })",
      pass_.run,
      R"(program edge { graph(%a: f32[3,1,64] user_input, %b: f32[3,100,64] user_input) {
      %view_copy: f32[3,64,1] = edge.aten.view_copy.default(%a, [3,64,1])
      %bmm: f32[3,100,1] = edge.aten.bmm.default(%b, %view_copy)
      %view_copy_1: f32[3,1,100] = edge.aten.view_copy.default(%bmm, [3,1,100])
      return (%view_copy_1 user_output) } })",
      CpuPassTestOps());
}

TEST_F(SwapProductsTest, TransposesBiases) {
  exir::ExpectRewrite(
      R"(program edge { graph(%c: f32[100] user_input, %a: f32[1,64] user_input, %b: f32[100,64] user_input) {
      %t: f32[64,100] = edge.aten.permute_copy.default(%b, [1,0])
      %y: f32[1,100] = edge.aten.addmm.default(%c, %a, %t, beta=2, alpha=3)
      return (%y user_output) } })",
      pass_.run,
      R"(program edge { graph(%c: f32[100] user_input, %a: f32[1,64] user_input, %b: f32[100,64] user_input) {
      %view_copy: f32[64,1] = edge.aten.view_copy.default(%a, [64,1])
      %view_copy_1: f32[100,1] = edge.aten.view_copy.default(%c, [-1,1])
      %addmm: f32[100,1] = edge.aten.addmm.default(%view_copy_1, %b, %view_copy, beta=2, alpha=3)
      %view_copy_2: f32[1,100] = edge.aten.view_copy.default(%addmm, [1,100])
      return (%view_copy_2 user_output) } })",
      CpuPassTestOps());
}

TEST_F(SwapProductsTest, LeavesBiasesOfSeveralRows) {
  ExpectUnchanged("%c: f32[4,100] user_input, %a: f32[4,64] user_input, %b: f32[100,64] user_input",
                  "%t: f32[64,100] = edge.aten.permute_copy.default(%b, [1,0]) "
                  "%y: f32[4,100] = edge.aten.addmm.default(%c, %a, %t)",
                  "%y user_output");
}

// Many rows, elements that are not fewer, other dtypes, unknown sizes, another user.
TEST_F(SwapProductsTest, LeavesOtherProducts) {
  const auto body = [](std::string_view dtype, std::string_view m, std::string_view n) {
    return absl::StrCat("%t: ", dtype, "[64,", n, "] = edge.aten.permute_copy.default(%b, [1,0]) ",
                        "%y: ", dtype, "[", m, ",", n, "] = edge.aten.mm.default(%a, %t)");
  };
  const auto inputs = [](std::string_view dtype, std::string_view m, std::string_view n) {
    return absl::StrCat("%a: ", dtype, "[", m, ",64] user_input, %b: ", dtype, "[", n,
                        ",64] user_input");
  };
  ExpectUnchanged(inputs("f32", "65", "9000"), body("f32", "65", "9000"), "%y user_output");
  ExpectUnchanged(inputs("f32", "40", "100"), body("f32", "40", "100"), "%y user_output");
  ExpectUnchanged(inputs("f64", "4", "100"), body("f64", "4", "100"), "%y user_output");
  ExpectUnchanged(inputs("f32", "s0", "100"), body("f32", "s0", "100"), "%y user_output");
  ExpectUnchanged(inputs("f32", "4", "100"), body("f32", "4", "100"),
                  "%y user_output, %t user_output");
}

// Weights are prepacked, also those of replaceable parameters and quantized ones.
TEST_F(SwapProductsTest, LeavesWeights) {
  const auto program = [](std::string_view declared, std::string_view input,
                          std::string_view weight) {
    return absl::StrCat(
        "program edge { ", declared, " graph(", input, ", %a: f32[4,64] user_input) { ", weight,
        "%t: f32[64,100] = edge.aten.permute_copy.default(%b, [1,0]) "
        "%y: f32[4,100] = edge.aten.mm.default(%a, %t) return (%y user_output) } }");
  };
  for (const std::string& text :
       {program("constants { state \"b\": f32[100,64] }", "%b: f32[100,64] parameter \"b\"", ""),
        program("constants { state \"w\": f32[100,64] }", "%w: f32[100,64] parameter \"w\"",
                "%b: f32[100,64] = edge.aten.relu.default(%w) ")}) {
    exir::ExpectUnchanged(text, pass_.run, CpuPassTestOps());
  }
}

// The permutation must exchange the last two dimensions.
TEST_F(SwapProductsTest, LeavesOtherPermutations) {
  ExpectUnchanged("%a: f32[3,4,64] user_input, %b: f32[100,64,3] user_input",
                  "%t: f32[3,64,100] = edge.aten.permute_copy.default(%b, [2,1,0]) "
                  "%y: f32[3,4,100] = edge.aten.bmm.default(%a, %t)",
                  "%y user_output");
}

}  // namespace
}  // namespace belay::cpu
