#include "backends/cpu/aot/passes/lower_lookup.h"

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

TEST(LowerLookup, TakesWhatIsComputedOfOneTensor) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge { graph(%x: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %s: f32[2,3] = edge.aten.sigmoid.default(%a)
      %m: f32[2,3] = edge.aten.mul.Tensor(%a, %s)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%m, 0.125, 9, 0, 255, dtype:u8)
      return (%q user_output, %a user_output) } })",
                      LowerLookup(handles).run, R"(program edge {
    constants { constant "_lookup_values0": f32[256] }
    graph(%_lookup_values0: f32[256] tensor_constant "_lookup_values0", %x: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %s_table: f32[256] = edge.aten.sigmoid.default(%_lookup_values0)
      %m_table: f32[256] = edge.aten.mul.Tensor(%_lookup_values0, %s_table)
      %q_table: u8[256] = edge.quantized_decomposed.quantize_per_tensor.default(%m_table, 0.125, 9, 0, 255, dtype:u8)
      %q: u8[2,3] = backend.belay_cpu.lookup.default(%x, %q_table)
      return (%q user_output, %a user_output) } })",
                      CpuPassTestOps());
}

// Of two tensors, read by others, of other sizes, of nothing but a quantization.
TEST(LowerLookup, LeavesOtherFunctions) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: u8[2,3] user_input, %y: u8[2,3] user_input, %f: f32[1,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.5, 3, 0, 255, dtype:u8)
      %m: f32[2,3] = edge.aten.mul.Tensor(%a, %b)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%m, 0.125, 9, 0, 255, dtype:u8)
      %s: f32[2,3] = edge.aten.sigmoid.default(%a)
      %r: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%s, 0.125, 9, 0, 255, dtype:u8)
      %n: f32[2,3] = edge.aten.mul.Tensor(%a, %f)
      %t: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%n, 0.125, 9, 0, 255, dtype:u8)
      %u: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%b, 0.125, 9, 0, 255, dtype:u8)
      return (%q user_output, %s user_output, %r user_output, %t user_output, %u user_output) } })",
                        LowerLookup(handles).run, CpuPassTestOps());
}

// A table has one dimension, and so has what is computed of it.
TEST(LowerLookup, LeavesNumbersOfMoreDimensions) {
  const auto program = [](std::string_view type) {
    return absl::StrCat("program edge { constants { constant \"c\": ", type, " } graph(%c: ", type,
                        R"( tensor_constant "c", %x: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %m: f32[2,3] = edge.aten.mul.Tensor(%a, %c)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%m, 0.125, 9, 0, 255, dtype:u8)
      return (%q user_output) } })");
  };
  FusedHandles handles;
  exir::ExpectUnchanged(program("f32[1,1]"), LowerLookup(handles).run, CpuPassTestOps());
  exir::ExpectUnchanged(program("f32[3]"), LowerLookup(handles).run, CpuPassTestOps());
  for (std::string_view type : {"f32[]", "f32[1]"}) {
    exir::ExpectRewrite(
        program(type), LowerLookup(handles).run,
        absl::StrCat(
            "program edge { constants { constant \"_lookup_values0\": f32[256] constant \"c\": ",
            type, " } graph(%c: ", type,
            R"( tensor_constant "c", %_lookup_values0: f32[256] tensor_constant "_lookup_values0",
          %x: u8[2,3] user_input) {
      %m_table: f32[256] = edge.aten.mul.Tensor(%_lookup_values0, %c)
      %q_table: u8[256] = edge.quantized_decomposed.quantize_per_tensor.default(%m_table, 0.125, 9, 0, 255, dtype:u8)
      %q: u8[2,3] = backend.belay_cpu.lookup.default(%x, %q_table)
      return (%q user_output) } })"),
        CpuPassTestOps());
  }
}

}  // namespace
}  // namespace belay::cpu
