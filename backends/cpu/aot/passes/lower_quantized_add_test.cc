#include "backends/cpu/aot/passes/lower_quantized_add.h"

#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

TEST(LowerQuantizedAdd, AddsBytes) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge { graph(%x: u8[2,3] user_input, %y: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.25, 7, 0, 255, dtype:u8)
      %s: f32[2,3] = edge.aten.add.Tensor(%a, %b)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.125, 9, 9, 255, dtype:u8)
      return (%q user_output, %a user_output) } })",
                      LowerQuantizedAdd(handles).run,
                      R"(program edge { graph(%x: u8[2,3] user_input, %y: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %q: u8[2,3] = backend.belay_cpu.quantized_add.default(%x, %y, 0.5, 3, 0.25, 7, 0.125, [9,9,255])
      return (%q user_output, %a user_output) } })",
                      CpuPassTestOps());
}

// alpha, broadcasting, a sum that is read, and a number.
TEST(LowerQuantizedAdd, LeavesOtherSums) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge { graph(%x: u8[2,3] user_input, %y: u8[3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.25, 7, 0, 255, dtype:u8)
      %s: f32[2,3] = edge.aten.add.Tensor(%a, %a, alpha=2)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.125, 9, 9, 255, dtype:u8)
      %t: f32[2,3] = edge.aten.add.Tensor(%a, %b)
      %r: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%t, 0.125, 9, 9, 255, dtype:u8)
      %u: f32[2,3] = edge.aten.add.Tensor(%a, %a)
      %v: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%u, 0.125, 9, 9, 255, dtype:u8)
      %n: f32[2,3] = edge.aten.add.Scalar(%a, 2)
      %w: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%n, 0.125, 9, 9, 255, dtype:u8)
      return (%q user_output, %r user_output, %u user_output, %v user_output, %w user_output) } })",
                        LowerQuantizedAdd(handles).run, CpuPassTestOps());
}

}  // namespace
}  // namespace belay::cpu
