#include "backends/cpu/aot/passes/widen_products.h"

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

TEST(WidenProducts, ComputesProductsOfBFloat16InFloat32) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": bf16[8,4] state "b": bf16[4] }
    graph(%w: bf16[8,4] parameter "w", %b: bf16[4] parameter "b", %x: bf16[2,8] user_input) {
      %y: bf16[2,4] = edge.aten.mm.default(%x, %w)
      %z: bf16[2,4] = edge.aten.addmm.default(%b, %x, %w)
      return (%y user_output, %z user_output) } })",
                      WidenProducts().run, R"(program edge {
    constants { state "w": bf16[8,4] constant "b_f32_0": f32[4] }
    graph(%w: bf16[8,4] parameter "w", %b_f32_0: f32[4] tensor_constant "b_f32_0",
          %x: bf16[2,8] user_input) {
      %wide: f32[2,8] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32, dim_order=[0,1])
      %wide_1: f32[8,4] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32, dim_order=[0,1])
      %y_1: f32[2,4] = edge.aten.mm.default(%wide, %wide_1)
      %y: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%y_1, dtype=dtype:bf16, dim_order=[0,1])
      %z_1: f32[2,4] = edge.aten.addmm.default(%b_f32_0, %wide, %wide_1)
      %z: bf16[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%z_1, dtype=dtype:bf16, dim_order=[0,1])
      return (%y user_output, %z user_output) } })",
                      CpuPassTestOps());
}

TEST(WidenProducts, MakesFloat32OfWeightsThatWouldNotStay) {
  exir::ExpectRewrite(R"(program edge {
    constants { state "w": f16[8,4] state "f": f16[2,3,1,1] }
    graph(%w: f16[8,4] parameter "w", %f: f16[2,3,1,1] parameter "f", %x: f16[2,4] user_input,
          %i: f16[1,3,5,5] user_input) {
      %t: f16[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %y: f16[2,8] = edge.aten.mm.default(%x, %t)
      %z: f16[1,2,5,5] = edge.aten.convolution.default(%i, %f, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      return (%y user_output, %z user_output) } })",
                      WidenProducts().run, R"(program edge {
    constants { constant "w_f32_0": f32[4,8] constant "f_f32_0": f32[2,3,1,1] }
    graph(%w_f32_0: f32[4,8] tensor_constant "w_f32_0",
          %f_f32_0: f32[2,3,1,1] tensor_constant "f_f32_0", %x: f16[2,4] user_input,
          %i: f16[1,3,5,5] user_input) {
      %wide: f32[2,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dtype=dtype:f32, dim_order=[0,1])
      %y_1: f32[2,8] = edge.aten.mm.default(%wide, %w_f32_0)
      %y: f16[2,8] = edge.dim_order_ops._to_dim_order_copy.default(%y_1, dtype=dtype:f16, dim_order=[0,1])
      %wide_1: f32[1,3,5,5] = edge.dim_order_ops._to_dim_order_copy.default(%i, dtype=dtype:f32, dim_order=[0,1,2,3])
      %z_1: f32[1,2,5,5] = edge.aten.convolution.default(%wide_1, %f_f32_0, none, [1,1], [0,0], [1,1], false, [0,0], 1)
      %z: f16[1,2,5,5] = edge.dim_order_ops._to_dim_order_copy.default(%z_1, dtype=dtype:f16, dim_order=[0,1,2,3])
      return (%y user_output, %z user_output) } })",
                      CpuPassTestOps());
}

TEST(WidenProducts, LeavesFloat32AndOtherOperators) {
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: f32[2,2] user_input, %u: bf16[2,2] user_input) {
      %y: f32[2,2] = edge.aten.mm.default(%x, %x)
      %v: bf16[2,2] = edge.aten.add.Tensor(%u, %u)
      return (%y user_output, %v user_output) } })",
                        WidenProducts().run, CpuPassTestOps());
}

}  // namespace
}  // namespace belay::cpu
