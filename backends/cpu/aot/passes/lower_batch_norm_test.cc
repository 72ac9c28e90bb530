#include "backends/cpu/aot/passes/lower_batch_norm.h"

#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

std::string Program(std::string_view nodes) {
  return absl::StrCat(R"(program edge {
    constants { state "w": f32[2] state "b": f32[2] state "m": f32[2] state "v": f32[2] }
    graph(%w: f32[2] parameter "w", %b: f32[2] parameter "b", %m: f32[2] buffer "m",
          %v: f32[2] buffer "v", %x: f32[1,2,20,20] user_input) {
      %y: f32[1,2,20,20], %s: f32[0], %t: f32[0] =
          edge.aten._native_batch_norm_legit_no_training.default(%x, %w, %b, %m, %v, 0.1, 0.25)
)",
                      nodes, " } }");
}
constexpr std::string_view kRelu = R"(
      %r: f32[1,2,20,20] = edge.aten.relu.default(%y)
      return (%r user_output))";

TEST(LowerBatchNorm, BecomesAProductAndASum) {
  exir::ExpectRewrite(Program(kRelu), LowerBatchNorm().run, R"(program edge {
    constants { constant "m_factor0": f32[2,1,1] constant "m_shift0": f32[2,1,1] }
    graph(%m_factor0: f32[2,1,1] tensor_constant "m_factor0",
          %m_shift0: f32[2,1,1] tensor_constant "m_shift0", %x: f32[1,2,20,20] user_input) {
      %y_scaled: f32[1,2,20,20] = edge.aten.mul.Tensor(%x, %m_factor0)
      %y_1: f32[1,2,20,20] = edge.aten.add.Tensor(%y_scaled, %m_shift0)
      %r: f32[1,2,20,20] = edge.aten.relu.default(%y_1)
      return (%r user_output) } })",
                      CpuPassTestOps());
}

TEST(LowerBatchNorm, ComputesBFloat16InFloat32) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "m": bf16[2] state "v": bf16[2] }
    graph(%m: bf16[2] buffer "m", %v: bf16[2] buffer "v", %x: bf16[1,2,20,20] user_input) {
      %y: bf16[1,2,20,20], %s: bf16[0], %t: bf16[0] =
          edge.aten._native_batch_norm_legit_no_training.default(%x, none, none, %m, %v, 0.1, 0.25)
      %r: bf16[1,2,20,20] = edge.aten.relu.default(%y)
      return (%r user_output) } })",
                      LowerBatchNorm().run, R"(program edge {
    constants { constant "m_factor0": f32[2,1,1] constant "m_shift0": f32[2,1,1] }
    graph(%m_factor0: f32[2,1,1] tensor_constant "m_factor0",
          %m_shift0: f32[2,1,1] tensor_constant "m_shift0", %x: bf16[1,2,20,20] user_input) {
      %wide: f32[1,2,20,20] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32, dim_order=[0,1,2,3])
      %y_scaled: f32[1,2,20,20] = edge.aten.mul.Tensor(%wide, %m_factor0)
      %y_1: f32[1,2,20,20] = edge.aten.add.Tensor(%y_scaled, %m_shift0)
      %narrow: bf16[1,2,20,20] = edge.dim_order_ops._to_dim_order_copy.default(%y_1, dtype=dtype:bf16, dim_order=[0,1,2,3])
      %r: bf16[1,2,20,20] = edge.aten.relu.default(%narrow)
      return (%r user_output) } })",
                      CpuPassTestOps());
}

// With 0.75 everywhere, factor = 0.75 / sqrt(0.75 + 0.25) and shift = 0.75 - 0.75 * 0.75.
TEST(LowerBatchNorm, ComputesFactorAndShift) {
  ASSERT_OK_AND_ASSIGN(exir::ExportedProgram program,
                       exir::ParseProgram(Program(kRelu), CpuPassTestOps()));
  Fill(program, {.f32 = 0.75});
  ASSERT_OK_AND_ASSIGN(const bool changed, LowerBatchNorm().run(program));
  ASSERT_TRUE(changed);
  for (const auto& [name, value] : {std::pair<std::string, float>{"m_factor0", 0.75f},
                                    std::pair<std::string, float>{"m_shift0", 0.1875f}}) {
    ASSERT_OK_AND_ASSIGN(const exir::Storage elements, program.constants.at(name).Dense());
    float floats[2];
    ASSERT_EQ(elements.bytes.size(), sizeof(floats));
    std::memcpy(floats, elements.bytes.data(), sizeof(floats));
    EXPECT_EQ(floats[0], value) << name;
    EXPECT_EQ(floats[1], value) << name;
  }
}

TEST(LowerBatchNorm, KeepsOneWithoutAnElementwiseUser) {
  exir::ExpectUnchanged(Program("return (%y user_output)"), LowerBatchNorm().run, CpuPassTestOps());
}

// 300 is more than 16 * sqrt(300 + 0.25).
TEST(LowerBatchNorm, KeepsMeansFarFromZeroAndNan) {
  for (float number : {300.0f, std::numeric_limits<float>::quiet_NaN()}) {
    ExpectLeftAsItIs(Program(kRelu), LowerBatchNorm().run, {.f32 = number});
  }
}

}  // namespace
}  // namespace belay::cpu
