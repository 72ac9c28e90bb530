#include "backends/cpu/aot/passes/fuse_glu.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

class FuseGluTest : public ::testing::Test {
 protected:
  FusedHandles handles_;
  exir::Pass pass_ = FuseGlu(handles_);
};

TEST_F(FuseGluTest, ReadsBothHalvesInPlace) {
  exir::ExpectRewrite(R"(program edge { graph(%x: f32[3,8] user_input) {
      [%a: f32[3,4], %b: f32[3,4]] = edge.aten.split_with_sizes_copy.default(%x, [4,4], 1)
      %s: f32[3,4] = edge.aten.sigmoid.default(%b)
      %y: f32[3,4] = edge.aten.mul.Tensor(%a, %s)
      return (%y user_output) } })",
                      pass_.run, R"(program edge { graph(%x: f32[3,8] user_input) {
      %y: f32[3,4] = edge.aten.glu.default(%x, 1)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST_F(FuseGluTest, ReadsHalfPrecision) {
  exir::ExpectRewrite(R"(program edge { graph(%x: f16[3,8] user_input) {
      %f: f32[3,8] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32)
      [%a: f32[3,4], %b: f32[3,4]] = edge.aten.split_with_sizes_copy.default(%f, [4,4], 1)
      %s: f32[3,4] = edge.aten.sigmoid.default(%b)
      %m: f32[3,4] = edge.aten.mul.Tensor(%s, %a)
      %y: f16[3,4] = edge.dim_order_ops._to_dim_order_copy.default(%m, dtype=dtype:f16)
      return (%y user_output) } })",
                      pass_.run, R"(program edge { graph(%x: f16[3,8] user_input) {
      %y: f16[3,4] = edge.aten.glu.default(%x, 1)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

// The gate is the first half, unequal parts, another user, images that an operator computes.
TEST_F(FuseGluTest, LeavesOtherProducts) {
  const auto program = [](std::string_view sizes, std::string_view a, std::string_view b,
                          std::string_view product, std::string_view outputs) {
    return absl::StrCat("program edge { graph(%x: f32[3,8] user_input) { [%a: f32", a, ", %b: f32",
                        b, "] = edge.aten.split_with_sizes_copy.default(%x, ", sizes, ", 1) ",
                        product, " return (", outputs, ") } }");
  };
  constexpr std::string_view kOutput = "%y user_output";
  for (const std::string& text : {program("[4,4]", "[3,4]", "[3,4]",
                                          "%s: f32[3,4] = edge.aten.sigmoid.default(%a) "
                                          "%y: f32[3,4] = edge.aten.mul.Tensor(%b, %s)",
                                          kOutput),
                                  program("[1,7]", "[3,1]", "[3,7]",
                                          "%s: f32[3,7] = edge.aten.sigmoid.default(%b) "
                                          "%y: f32[3,7] = edge.aten.mul.Tensor(%a, %s)",
                                          kOutput),
                                  program("[4,4]", "[3,4]", "[3,4]",
                                          "%s: f32[3,4] = edge.aten.sigmoid.default(%b) "
                                          "%y: f32[3,4] = edge.aten.mul.Tensor(%a, %s)",
                                          "%y user_output, %s user_output"),
                                  std::string(R"(program edge { graph(%i: f32[1,8,2,2] user_input) {
      %x: f32[1,8,2,2] = edge.aten.relu.default(%i)
      [%a: f32[1,4,2,2], %b: f32[1,4,2,2]] = edge.aten.split_with_sizes_copy.default(%x, [4,4], 1)
      %s: f32[1,4,2,2] = edge.aten.sigmoid.default(%b)
      %y: f32[1,4,2,2] = edge.aten.mul.Tensor(%a, %s)
      return (%y user_output) } })")}) {
    exir::ExpectUnchanged(text, pass_.run, CpuPassTestOps());
  }
}

}  // namespace
}  // namespace belay::cpu
