#include "backends/cpu/aot/passes/lower_quantized_add.h"

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

TEST(LowerQuantizedAdd, LowersQuantizedSums) {
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

// alpha, broadcasting, a sum with other users, and a scalar.
TEST(LowerQuantizedAdd, DoesNotLowerOtherSums) {
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

// Operands that are not two uint8 tensors, and other quantizations.
TEST(LowerQuantizedAdd, DoesNotLowerOtherPatterns) {
  for (std::string_view sum : {
           "%s: f32[2,3] = edge.aten.mul.Tensor(%a, %b)",
           "%s: f32[2,3] = edge.aten.abs.default(%a)",
           "%s: f32[2,3] = edge.aten.add.Tensor(%a, %f)",
           "%s: f32[2,3] = edge.aten.add.Tensor(%f, %a)",
           "%s: f32[4,3] = edge.aten.cat.default([%a,%b])",
           "%s: f32[2,3] = edge.aten.add.Tensor(%a, %i)",
       }) {
    FusedHandles handles;
    const std::string sizes(sum.substr(8, 3));
    ExpectLeftAsItIs(
        absl::StrCat(
            R"(program edge {
    graph(%x: u8[2,3] user_input, %z: i8[2,3] user_input, %f: f32[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.25, 7, 0, 255, dtype:u8)
      %i: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%z, 0.25, 7, -128, 127, dtype:i8)
      )",
            sum, " %q: u8[", sizes,
            R"(] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.125, 9, 9, 255, dtype:u8)
      return (%q user_output) } })"),
        LowerQuantizedAdd(handles).run);
  }
  for (std::string_view quantize :
       {"%s, 0.125, 9, 10, 255, dtype:u8", "%f, 0.125, 9, 9, 255, dtype:u8",
        "%s, 1e-40, 9, 9, 255, dtype:u8"}) {
    FusedHandles handles;
    ExpectLeftAsItIs(absl::StrCat(R"(program edge {
    graph(%x: u8[2,3] user_input, %f: f32[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %s: f32[2,3] = edge.aten.add.Tensor(%a, %a)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default()",
                                  quantize, R"()
      return (%q user_output) } })"),
                     LowerQuantizedAdd(handles).run);
  }
}

}  // namespace
}  // namespace belay::cpu
