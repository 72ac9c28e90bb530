#include "backends/cpu/aot/passes/lower_lookup.h"

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

TEST(LowerLookup, LowersFunctionsOfOneTensor) {
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

// As quantizers write SiLU.
TEST(LowerLookup, LowersFunctionsOfOneTensorDequantizedTwice) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge { graph(%x: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %s: f32[2,3] = edge.aten.sigmoid.default(%a)
      %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %m: f32[2,3] = edge.aten.mul.Tensor(%b, %s)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%m, 0.125, 9, 0, 255, dtype:u8)
      return (%q user_output) } })",
                      LowerLookup(handles).run, R"(program edge {
    constants { constant "_lookup_values0": f32[256] }
    graph(%_lookup_values0: f32[256] tensor_constant "_lookup_values0", %x: u8[2,3] user_input) {
      %s_table: f32[256] = edge.aten.sigmoid.default(%_lookup_values0)
      %m_table: f32[256] = edge.aten.mul.Tensor(%_lookup_values0, %s_table)
      %q_table: u8[256] = edge.quantized_decomposed.quantize_per_tensor.default(%m_table, 0.125, 9, 0, 255, dtype:u8)
      %q: u8[2,3] = backend.belay_cpu.lookup.default(%x, %q_table)
      return (%q user_output) } })",
                      CpuPassTestOps());
}

// One tensor with two scales.
TEST(LowerLookup, DoesNotLowerFunctionsOfOtherReals) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge { graph(%x: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.25, 3, 0, 255, dtype:u8)
      %m: f32[2,3] = edge.aten.mul.Tensor(%b, %a)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%m, 0.125, 9, 0, 255, dtype:u8)
      return (%q user_output) } })",
                        LowerLookup(handles).run, CpuPassTestOps());
}

// Two tensors, other users, other sizes, only a quantization.
TEST(LowerLookup, DoesNotLowerOtherFunctions) {
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

// A table is one-dimensional, and so are the values computed from it.
TEST(LowerLookup, DoesNotLowerScalarsOfHigherRank) {
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

TEST(LowerLookup, DoesNotLowerFunctionsOfSeveralTensors) {
  std::string chain = "%c0: f32[2,3] = edge.aten.abs.default(%a) ";
  for (int i = 1; i < 17; ++i) {
    absl::StrAppend(&chain, "%c", i, ": f32[2,3] = edge.aten.abs.default(%c", i - 1, ") ");
  }
  absl::StrAppend(&chain, "%m: f32[2,3] = edge.aten.abs.default(%c16)");
  for (std::string_view body : std::vector<std::string_view>{
           "%m: f32[2,3] = edge.aten.abs.default(%f)",                 // not from bytes
           "%m: f32[2,3] = edge.aten.mul.Scalar(%a, %n)",              // a symbolic scalar
           "%m: f32[2,3] = edge.aten._softmax.default(%a, 1, false)",  // rows
           "%m: f32[2,3] = edge.aten.native_dropout.default(%a, 0.5, true)",
           "%m: f32[2,3], %k: i64[2,3] = edge.aten.sort.default(%a)",
           "%g: b8[2,3] = edge.aten.gt.Scalar(%a, 0) "
           "%m: f32[2,3] = edge.aten.where.self(%g, %a, %a)",  // not of floats
           "%g: f32[1,2,3] = edge.aten.abs.default(%a) %m: f32[2,3] = edge.aten.abs.default(%g)",
           "%m: f32[2,3] = edge.aten.add.Tensor(%a, %b)",  // two tensors
           "%g: f32[2,3] = edge.aten.abs.default(%a) "
           "%m: f32[2,3] = edge.aten.add.Tensor(%g, %b)",
           "%m: f32[2,3] = edge.aten.clone.default(%d)",  // int8
           chain,                                         // too long
       }) {
    FusedHandles handles;
    ExpectLeftAsItIs(
        absl::StrCat(
            R"(program edge {
    ranges { s0: [1,9] }
    graph(%x: u8[2,3] user_input, %y: u8[2,3] user_input, %i: i8[2,3] user_input,
          %f: f32[2,3] user_input, %n: symint(s0) user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%y, 0.5, 3, 0, 255, dtype:u8)
      %d: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%i, 0.5, 3, -128, 127, dtype:i8)
      )",
            body,
            R"( %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%m, 0.125, 9, 0, 255, dtype:u8)
      return (%q user_output) } })"),
        LowerLookup(handles).run);
  }
}

// Intermediate results that are returned or have other users; a range without the zero point.
TEST(LowerLookup, DoesNotLowerSharedIntermediates) {
  for (const auto& [form, more, outputs] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"0.125, 9, 0, 255", "", ", %m user_output"},
           {"0.125, 9, 0, 255", "%z: f32[2,3] = edge.aten.abs.default(%m)", ", %z user_output"},
           {"0.125, 9, 10, 255", "", ""}}) {
    FusedHandles handles;
    ExpectLeftAsItIs(
        absl::StrCat(R"(program edge {
    graph(%x: u8[2,3] user_input) {
      %a: f32[2,3] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, 0.5, 3, 0, 255, dtype:u8)
      %m: f32[2,3] = edge.aten.sigmoid.default(%a)
      %q: u8[2,3] = edge.quantized_decomposed.quantize_per_tensor.default(%m, )",
                     form, ", dtype:u8) ", more, " return (%q user_output", outputs, ") } }"),
        LowerLookup(handles).run);
  }
}

}  // namespace
}  // namespace belay::cpu
