#include "backends/cpu/aot/passes/lower_linear.h"

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectLowered(std::string_view before, std::string_view after) {
  FusedHandles handles;
  exir::ExpectRewrite(before, LowerLinear(handles).run, after, CpuPassTestOps());
}
void ExpectLeft(std::string_view before) {
  FusedHandles handles;
  exir::ExpectUnchanged(before, LowerLinear(handles).run, CpuPassTestOps());
}

TEST(LowerLinear, PacksATransposedWeight) {
  ExpectLowered(R"(program edge {
    constants { state "w": f32[8,4] state "b": f32[8] }
    graph(%w: f32[8,4] parameter "w", %b: f32[8] parameter "b", %x: f32[2,4] user_input) {
      %t: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %y: f32[2,8] = edge.aten.addmm.default(%b, %x, %t)
      return (%y user_output) } })",
                R"(program edge {
    constants { state "b": f32[8] constant "w_packed0": f32[128] }
    graph(%b: f32[8] parameter "b", %w_packed0: f32[128] tensor_constant "w_packed0",
          %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.linear.default(%x, %w_packed0, %b, none, 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

TEST(LowerLinear, PacksASharedWeightOnceAndKeepsItForOthers) {
  ExpectLowered(R"(program edge {
    constants { state "w": f32[4,4] }
    graph(%w: f32[4,4] parameter "w", %x: f32[2,4] user_input) {
      %y: f32[2,4] = edge.aten.mm.default(%x, %w)
      %z: f32[2,4] = edge.aten.mm.default(%y, %w)
      %s: f32[4,4] = edge.aten.relu.default(%w)
      return (%z user_output, %s user_output) } })",
                R"(program edge {
    constants { state "w": f32[4,4] constant "w_packed0": f32[128] }
    graph(%w: f32[4,4] parameter "w", %w_packed0: f32[128] tensor_constant "w_packed0",
          %x: f32[2,4] user_input) {
      %y: f32[2,4] = backend.belay_cpu.linear.default(%x, %w_packed0, none, none, 4, "none", "add", -inf, inf)
      %z: f32[2,4] = backend.belay_cpu.linear.default(%y, %w_packed0, none, none, 4, "none", "add", -inf, inf)
      %s: f32[4,4] = edge.aten.relu.default(%w)
      return (%z user_output, %s user_output) } })");
}

TEST(LowerLinear, TakesRowsWithoutReshapingThem) {
  ExpectLowered(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "w": f32[8,4] }
    graph(%w: f32[8,4] parameter "w", %n: symint(7*s0) user_input, %m: symint(s0) user_input,
          %x: f32[s0,7,4] user_input) {
      %t: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %v: f32[7*s0,4] = edge.aten.view_copy.default(%x, [%n,4])
      %y: f32[7*s0,8] = edge.aten.mm.default(%v, %t)
      %z: f32[s0,7,8] = edge.aten.view_copy.default(%y, [%m,7,8])
      return (%z user_output) } })",
                R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w_packed0": f32[128] }
    graph(%w_packed0: f32[128] tensor_constant "w_packed0", %n: symint(7*s0) user_input,
          %m: symint(s0) user_input, %x: f32[s0,7,4] user_input) {
      %y: f32[s0,7,8] = backend.belay_cpu.linear.default(%x, %w_packed0, none, none, 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

TEST(LowerLinear, KeepsAReshapeThatIsNotUndone) {
  ExpectLowered(R"(program edge {
    constants { state "w": f32[4,8] }
    graph(%w: f32[4,8] parameter "w", %x: f32[3,7,4] user_input) {
      %v: f32[21,4] = edge.aten.view_copy.default(%x, [21,4])
      %y: f32[21,8] = edge.aten.mm.default(%v, %w)
      %z: f32[7,3,8] = edge.aten.view_copy.default(%y, [7,3,8])
      return (%z user_output) } })",
                R"(program edge {
    constants { constant "w_packed0": f32[128] }
    graph(%w_packed0: f32[128] tensor_constant "w_packed0", %x: f32[3,7,4] user_input) {
      %v: f32[21,4] = edge.aten.view_copy.default(%x, [21,4])
      %y: f32[21,8] = backend.belay_cpu.linear.default(%v, %w_packed0, none, none, 8, "none", "add", -inf, inf)
      %z: f32[7,3,8] = edge.aten.view_copy.default(%y, [7,3,8])
      return (%z user_output) } })");
}

TEST(LowerLinear, TakesABatchOfOneMatrix) {
  ExpectLowered(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "w": f32[8,4] }
    graph(%w: f32[8,4] parameter "w", %n: symint(s0) user_input, %x: f32[s0,7,4] user_input) {
      %t: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %e: f32[s0,4,8] = edge.aten.expand_copy.default(%t, [%n,4,8])
      %v: f32[s0,4,8] = edge.aten.view_copy.default(%e, [%n,4,8])
      %y: f32[s0,7,8] = edge.aten.bmm.default(%x, %v)
      return (%y user_output) } })",
                R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w_packed0": f32[128] }
    graph(%w_packed0: f32[128] tensor_constant "w_packed0", %n: symint(s0) user_input,
          %x: f32[s0,7,4] user_input) {
      %y: f32[s0,7,8] = backend.belay_cpu.linear.default(%x, %w_packed0, none, none, 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

TEST(LowerLinear, LeavesABatchOfMatrices) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[2,4,8] }
    graph(%w: f32[2,4,8] parameter "w", %x: f32[2,7,4] user_input) {
      %y: f32[2,7,8] = edge.aten.bmm.default(%x, %w)
      return (%y user_output) } })");
}

TEST(LowerLinear, LeavesScaledSumsAndOtherBiases) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[4,8] state "b": f32[8] state "c": f32[2,1] }
    graph(%w: f32[4,8] parameter "w", %b: f32[8] parameter "b", %c: f32[2,1] parameter "c",
          %x: f32[2,4] user_input) {
      %y: f32[2,8] = edge.aten.addmm.default(%b, %x, %w, alpha=2)
      %z: f32[2,8] = edge.aten.addmm.default(%b, %x, %w, beta=0.5)
      %v: f32[2,8] = edge.aten.addmm.default(%c, %x, %w)
      return (%y user_output, %z user_output, %v user_output) } })");
}

TEST(LowerLinear, LeavesWhatIsNotFloat32) {
  ExpectLeft(R"(program edge {
    constants { state "w": f64[4,8] }
    graph(%w: f64[4,8] parameter "w", %x: f64[2,4] user_input) {
      %y: f64[2,8] = edge.aten.mm.default(%x, %w)
      return (%y user_output) } })");
}

TEST(LowerLinear, LeavesWeightsThatChange) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[4,4] }
    graph(%w: f32[4,4] buffer "w", %x: f32[4,4] user_input) {
      %y: f32[4,4] = edge.aten.mm.default(%x, %w)
      return (%y buffer_mutation "w", %y user_output) } })");
}

TEST(LowerLinear, ComputesOnBytesWhatWasDequantized) {
  ExpectLowered(R"(program edge {
    constants { state "w": i8[8,4] state "b": f32[8] }
    graph(%w: i8[8,4] parameter "w", %b: f32[8] parameter "b", %x: u8[2,4] user_input) {
      %d: f32[2,4] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %t: i8[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %c: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%t, 0.25, 0, -127, 127, dtype:i8)
      %y: f32[2,8] = edge.aten.addmm.default(%b, %d, %c)
      return (%y user_output) } })",
                R"(program edge {
    constants { state "b": f32[8] constant "w_packed0": i8[64] constant "w_scales0": f32[8]
                constant "w_sums0": i32[8] }
    graph(%b: f32[8] parameter "b", %w_packed0: i8[64] tensor_constant "w_packed0",
          %w_scales0: f32[8] tensor_constant "w_scales0",
          %w_sums0: i32[8] tensor_constant "w_sums0", %x: u8[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.quantized_linear.default(%x, %w_packed0, %w_scales0, %w_sums0, %b, 8, 3, "none", -inf, inf, none, [], none, [])
      return (%y user_output) } })");
}

TEST(LowerLinear, DequantizesABias) {
  ExpectLowered(R"(program edge {
    constants { state "w": i8[4,8] state "b": i32[8] }
    graph(%w: i8[4,8] parameter "w", %b: i32[8] parameter "b", %x: u8[2,4] user_input) {
      %d: f32[2,4] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %c: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, dtype:i8)
      %a: f32[8] = edge.quantized_decomposed.dequantize_per_tensor.default(%b, 0.125, 0, -2147483648, 2147483647, dtype:i32)
      %y: f32[2,8] = edge.aten.addmm.default(%a, %d, %c)
      return (%y user_output) } })",
                R"(program edge {
    constants { constant "w_bias0": f32[8] constant "w_packed0": i8[64]
                constant "w_scales0": f32[8] constant "w_sums0": i32[8] }
    graph(%w_packed0: i8[64] tensor_constant "w_packed0",
          %w_scales0: f32[8] tensor_constant "w_scales0",
          %w_sums0: i32[8] tensor_constant "w_sums0",
          %w_bias0: f32[8] tensor_constant "w_bias0", %x: u8[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.quantized_linear.default(%x, %w_packed0, %w_scales0, %w_sums0, %w_bias0, 8, 3, "none", -inf, inf, none, [], none, [])
      return (%y user_output) } })");
}

// Signed inputs, weights with a zero point, and weights of floats.
TEST(LowerLinear, LeavesOtherQuantization) {
  ExpectLeft(R"(program edge {
    constants { state "w": i8[4,8] state "u": u8[4,8] }
    graph(%w: i8[4,8] parameter "w", %u: u8[4,8] parameter "u", %x: u8[2,4] user_input,
          %s: i8[2,4] user_input) {
      %d: f32[2,4] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %e: f32[2,4] = edge.quantized_decomposed.dequantize_per_tensor.default(%s, 0.5, 3, -128, 127, dtype:i8)
      %c: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 0, -127, 127, dtype:i8)
      %z: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 0.25, 1, -127, 127, dtype:i8)
      %v: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%u, 0.25, 0, 0, 255, dtype:u8)
      %a: f32[2,8] = edge.aten.mm.default(%e, %c)
      %b: f32[2,8] = edge.aten.mm.default(%d, %z)
      %f: f32[2,8] = edge.aten.mm.default(%d, %v)
      return (%a user_output, %b user_output, %f user_output) } })");
}

}  // namespace
}  // namespace belay::cpu
