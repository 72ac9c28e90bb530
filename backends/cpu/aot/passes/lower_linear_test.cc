#include "backends/cpu/aot/passes/lower_linear.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

exir::RunPass LowerWith(const Numbers& numbers, FusedHandles& handles) {
  return [&numbers, &handles](exir::ExportedProgram& program) {
    Fill(program, numbers);
    return LowerLinear(handles).run(program);
  };
}
void ExpectLoweredWith(const Numbers& numbers, std::string_view before, std::string_view after) {
  FusedHandles handles;
  exir::ExpectRewrite(before, LowerWith(numbers, handles), after, CpuPassTestOps());
}
void ExpectLeftWith(const Numbers& numbers, std::string_view before) {
  FusedHandles handles;
  exir::ExpectUnchanged(before, LowerWith(numbers, handles), CpuPassTestOps());
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

TEST(LowerLinear, ReplaceableWeightsArePackedAtLoad) {
  ExpectLowered(R"(program edge {
    constants { state "w": f32[8,4] state "b": f32[8] }
    graph(%w: f32[8,4] parameter "w" replaceable, %b: f32[8] parameter "b" replaceable,
          %x: f32[2,4] user_input) {
      %t: f32[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %y: f32[2,8] = edge.aten.addmm.default(%b, %x, %t)
      return (%y user_output) } })",
                R"(program edge {
    constants { state "b": f32[8] constant "belay_cpu.packed/f32/4/8/t/w": f32[128] }
    graph(%b: f32[8] parameter "b" replaceable,
          %w_packed0: f32[128] tensor_constant "belay_cpu.packed/f32/4/8/t/w" replaceable,
          %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.linear.default(%x, %w_packed0, %b, none, 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

TEST(LowerLinear, EqualReplaceableWeightsArePackedByName) {
  ExpectLowered(R"(program edge {
    constants { state "v": f32[4,4] state "w": f32[4,4] shares state "v" }
    graph(%v: f32[4,4] parameter "v" replaceable, %w: f32[4,4] parameter "w" replaceable,
          %x: f32[2,4] user_input) {
      %y: f32[2,4] = edge.aten.mm.default(%x, %v)
      %z: f32[2,4] = edge.aten.mm.default(%y, %w)
      %u: f32[2,4] = edge.aten.mm.default(%z, %w)
      return (%u user_output) } })",
                R"(program edge {
    constants {
      constant "belay_cpu.packed/f32/4/4/n/v": f32[128]
      constant "belay_cpu.packed/f32/4/4/n/w": f32[128]
    }
    graph(%v_packed0: f32[128] tensor_constant "belay_cpu.packed/f32/4/4/n/v" replaceable,
          %w_packed0: f32[128] tensor_constant "belay_cpu.packed/f32/4/4/n/w" replaceable,
          %x: f32[2,4] user_input) {
      %y: f32[2,4] = backend.belay_cpu.linear.default(%x, %v_packed0, none, none, 4, "none", "add", -inf, inf)
      %z: f32[2,4] = backend.belay_cpu.linear.default(%y, %w_packed0, none, none, 4, "none", "add", -inf, inf)
      %u: f32[2,4] = backend.belay_cpu.linear.default(%z, %w_packed0, none, none, 4, "none", "add", -inf, inf)
      return (%u user_output) } })");
}

// A part of a replaceable tensor, and a batch.
TEST(LowerLinear, PartsOfReplaceableTensorsAreNotPacked) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[2,4,8] }
    graph(%w: f32[2,4,8] parameter "w" replaceable, %x: f32[2,3,4] user_input) {
      %y: f32[2,3,8] = edge.aten.bmm.default(%x, %w)
      return (%y user_output) } })");
}

TEST(LowerLinear, PackedWeightsAreStoredInTheFileOfTheirSource) {
  ExpectLowered(R"(program edge {
    constants { state "w": f32[4,8] }
    graph(%w: f32[4,8] parameter "w" in "layers", %x: f32[2,4] user_input) {
      %y: f32[2,8] = edge.aten.mm.default(%x, %w)
      return (%y user_output) } })",
                R"(program edge {
    constants { constant "w_packed0": f32[128] }
    graph(%w_packed0: f32[128] tensor_constant "w_packed0" in "layers", %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.linear.default(%x, %w_packed0, none, none, 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

TEST(LowerLinear, PacksASharedWeightOnce) {
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

TEST(LowerLinear, AbsorbsReshapes) {
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

TEST(LowerLinear, KeepsOtherReshapes) {
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

TEST(LowerLinear, LowersABatchOfOneMatrix) {
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

TEST(LowerLinear, DoesNotLowerABatchOfMatrices) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[2,4,8] }
    graph(%w: f32[2,4,8] parameter "w", %x: f32[2,7,4] user_input) {
      %y: f32[2,7,8] = edge.aten.bmm.default(%x, %w)
      return (%y user_output) } })");
}

TEST(LowerLinear, DoesNotLowerScaledSumsAndOtherBiases) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[4,8] state "b": f32[8] state "c": f32[2,1] }
    graph(%w: f32[4,8] parameter "w", %b: f32[8] parameter "b", %c: f32[2,1] parameter "c",
          %x: f32[2,4] user_input) {
      %y: f32[2,8] = edge.aten.addmm.default(%b, %x, %w, alpha=2)
      %z: f32[2,8] = edge.aten.addmm.default(%b, %x, %w, beta=0.5)
      %v: f32[2,8] = edge.aten.addmm.default(%c, %x, %w)
      return (%y user_output, %z user_output, %v user_output) } })");
}

TEST(LowerLinear, DoesNotLowerOtherDTypes) {
  ExpectLeft(R"(program edge {
    constants { state "w": f64[4,8] }
    graph(%w: f64[4,8] parameter "w", %x: f64[2,4] user_input) {
      %y: f64[2,8] = edge.aten.mm.default(%x, %w)
      return (%y user_output) } })");
}

TEST(LowerLinear, DoesNotLowerMutatedWeights) {
  ExpectLeft(R"(program edge {
    constants { state "w": f32[4,4] }
    graph(%w: f32[4,4] buffer "w", %x: f32[4,4] user_input) {
      %y: f32[4,4] = edge.aten.mm.default(%x, %w)
      return (%y buffer_mutation "w", %y user_output) } })");
}

TEST(LowerLinear, LowersToQuantizedLinear) {
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

// Sums are scaled by the product of the scales at once: infinity times 0 is NaN.
TEST(LowerLinear, DoesNotLowerUnusualScaleProducts) {
  const auto program = [](std::string_view input, std::string_view weight) {
    return absl::StrCat(R"(program edge {
    constants { state "w": i8[4,8] }
    graph(%w: i8[4,8] parameter "w", %x: u8[2,4] user_input) {
      %d: f32[2,4] = edge.quantized_decomposed.dequantize_per_tensor.default(%x, )",
                        input, R"(, 3, 0, 255, dtype:u8)
      %c: f32[4,8] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, )",
                        weight, R"(, 0, -127, 127, dtype:i8)
      %y: f32[2,8] = edge.aten.mm.default(%d, %c)
      return (%y user_output) } })");
  };
  ExpectLeft(program("1e25", "1e25"));
  ExpectLeft(program("1e-25", "1e-25"));
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

TEST(LowerLinear, LowersPerChannelWeights) {
  ExpectLoweredWith({}, R"(program edge {
    constants { state "w": i8[8,4] state "b": f32[8] state "s": f32[8] state "z": i64[8] }
    graph(%w: i8[8,4] buffer "w", %b: f32[8] parameter "b", %s: f32[8] buffer "s",
          %z: i64[8] buffer "z", %x: f32[3,2,4] user_input) {
      %v: f32[6,4] = edge.aten.view_copy.default(%x, [6,4])
      %d: f32[8,4] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -127, 127, dtype:i8)
      %t: f32[4,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[6,8] = edge.aten.addmm.default(%b, %v, %t)
      %r: f32[3,2,8] = edge.aten.view_copy.default(%y, [3,2,8])
      return (%r user_output) } })",
                    R"(program edge {
    constants { state "b": f32[8] constant "w_packed_int8_0": i8[256] constant "w_scales0": f32[32] }
    graph(%b: f32[8] parameter "b", %w_packed_int8_0: i8[256] tensor_constant "w_packed_int8_0",
          %w_scales0: f32[32] tensor_constant "w_scales0", %x: f32[3,2,4] user_input) {
      %y: f32[3,2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_int8_0, %w_scales0, none, %b, none, 8, "int8", 4, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

// The axis is that of the columns, the permutation precedes the dequantization, and all elements
// fit into 4 bits.
TEST(LowerLinear, PacksSmallIntegersAsInt4) {
  ExpectLoweredWith({.i8 = -8}, R"(program edge {
    constants { state "w": i8[8,4] state "s": f32[8] }
    graph(%w: i8[8,4] buffer "w", %s: f32[8] buffer "s", %x: f32[2,4] user_input) {
      %t: i8[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %d: f32[4,8] = edge.quantized_decomposed.dequantize_per_channel.default(%t, %s, none, -1, -127, 127, dtype:i8)
      %y: f32[2,8] = edge.aten.mm.default(%x, %d)
      return (%y user_output) } })",
                    R"(program edge {
    constants { constant "w_packed_int4_0": i32[32] constant "w_scales0": f32[32] }
    graph(%w_packed_int4_0: i32[32] tensor_constant "w_packed_int4_0",
          %w_scales0: f32[32] tensor_constant "w_scales0", %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_int4_0, %w_scales0, none, none, none, 8, "int4", 4, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

TEST(LowerLinear, LowersGroupScalesAndZeroPoints) {
  ExpectLoweredWith({.i8 = 7, .i32 = -3}, R"(program edge {
    constants { state "w": i8[8,32] state "s": f32[8,4] state "z": i32[8,4] }
    graph(%w: i8[8,32] buffer "w", %s: f32[8,4] buffer "s", %z: i32[8,4] buffer "z",
          %x: f32[2,32] user_input) {
      %d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, %z, -8, 7, dtype:i8, 8, dtype:f32)
      %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t)
      return (%y user_output) } })",
                    R"(program edge {
    constants { constant "w_packed_int4_0": i32[128] constant "w_scales0": f32[128]
                constant "w_zeros0": f32[128] }
    graph(%w_packed_int4_0: i32[128] tensor_constant "w_packed_int4_0",
          %w_scales0: f32[128] tensor_constant "w_scales0",
          %w_zeros0: f32[128] tensor_constant "w_zeros0", %x: f32[2,32] user_input) {
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_int4_0, %w_scales0, %w_zeros0, none, none, 8, "int4", 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

// The decomposition of torchao's groups. Constant folding may keep the conversion, since it
// enlarges constants.
TEST(LowerLinear, LowersConvertedZeroPoints) {
  ExpectLoweredWith({.i8 = 7}, R"(program edge {
    constants { state "w": i8[8,32] state "s": f32[8,4] state "z": i8[8,4] }
    graph(%w: i8[8,32] buffer "w", %s: f32[8,4] buffer "s", %z: i8[8,4] buffer "z",
          %x: f32[2,32] user_input) {
      %v: i8[8,4] = edge.aten.view_copy.default(%z, [8,4])
      %c: i64[8,4] = edge.dim_order_ops._to_dim_order_copy.default(%v, dtype=dtype:i64)
      %d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, %c, -8, 7, dtype:i8, 8, dtype:f32)
      %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t)
      return (%y user_output) } })",
                    R"(program edge {
    constants { constant "w_packed_int4_0": i32[128] constant "w_scales0": f32[128]
                constant "w_zeros0": f32[128] }
    graph(%w_packed_int4_0: i32[128] tensor_constant "w_packed_int4_0",
          %w_scales0: f32[128] tensor_constant "w_scales0",
          %w_zeros0: f32[128] tensor_constant "w_zeros0", %x: f32[2,32] user_input) {
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_int4_0, %w_scales0, %w_zeros0, none, none, 8, "int4", 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

// Fractions would be truncated.
TEST(LowerLinear, DoesNotLowerZeroPointsChangedByConversion) {
  ExpectLeftWith({.i8 = 7}, R"(program edge {
    constants { state "w": i8[8,32] state "s": f32[8,4] state "z": f32[8,4] }
    graph(%w: i8[8,32] buffer "w", %s: f32[8,4] buffer "s", %z: f32[8,4] buffer "z",
          %x: f32[2,32] user_input) {
      %c: i64[8,4] = edge.dim_order_ops._to_dim_order_copy.default(%z, dtype=dtype:i64)
      %d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, %c, -8, 7, dtype:i8, 8, dtype:f32)
      %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t)
      return (%y user_output) } })");
}

TEST(LowerLinear, LowersConvertedWeightsTimesScales) {
  ExpectLoweredWith({}, R"(program edge {
    constants { state "w": i8[8,4] state "s": f32[8,1] }
    graph(%w: i8[8,4] buffer "w", %s: f32[8,1] buffer "s", %x: f32[2,4] user_input) {
      %c: f32[8,4] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32)
      %m: f32[8,4] = edge.aten.mul.Tensor(%c, %s)
      %t: f32[4,8] = edge.aten.permute_copy.default(%m, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t)
      return (%y user_output) } })",
                    R"(program edge {
    constants { constant "w_packed_int8_0": i8[256] constant "w_scales0": f32[32] }
    graph(%w_packed_int8_0: i8[256] tensor_constant "w_packed_int8_0",
          %w_scales0: f32[32] tensor_constant "w_scales0", %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_int8_0, %w_scales0, none, none, none, 8, "int8", 4, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

// The pattern of torchao's Int8WeightOnlyConfig.
TEST(LowerLinear, AbsorbsColumnScales) {
  ExpectLoweredWith({}, R"(program edge {
    constants { state "w": i8[8,4] state "s": f32[8] }
    graph(%w: i8[8,4] buffer "w", %s: f32[8] buffer "s", %x: f32[2,4] user_input) {
      %c: f32[8,4] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32)
      %t: f32[4,8] = edge.aten.permute_copy.default(%c, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t)
      %m: f32[2,8] = edge.aten.mul.Tensor(%y, %s)
      return (%m user_output) } })",
                    R"(program edge {
    constants { constant "w_packed_int8_0": i8[256] constant "w_scales0": f32[32] }
    graph(%w_packed_int8_0: i8[256] tensor_constant "w_packed_int8_0",
          %w_scales0: f32[32] tensor_constant "w_scales0", %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_int8_0, %w_scales0, none, none, none, 8, "int8", 4, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

// Factors per row, factors of a value with two users, and factors of a weight with scales.
TEST(LowerLinear, KeepsOtherFactors) {
  const Numbers numbers;
  FusedHandles handles;
  for (const auto& [scales, product, also] : {std::tuple("f32[2,1]", "%s, %y", ""),
                                              {"f32[8]", "%y, %s", ", %y user_output"},
                                              {"f32[2,8]", "%y, %s", ""}}) {
    const std::string result = absl::StrCat("      %m: f32[2,8] = edge.aten.mul.Tensor(", product,
                                            ")\n      return (%m user_output", also, ") } }");
    const std::string scale = absl::StrCat("%s: ", scales, " buffer \"s\"");
    exir::ExpectRewrite(
        absl::StrCat(R"(program edge {
    constants { state "w": i8[8,4] state "s": )",
                     scales, R"( }
    graph(%w: i8[8,4] buffer "w", )",
                     scale, R"(, %x: f32[2,4] user_input) {
      %c: f32[8,4] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32)
      %t: f32[4,8] = edge.aten.permute_copy.default(%c, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t)
)",
                     result),
        LowerWith(numbers, handles),
        absl::StrCat(R"(program edge {
    constants { state "s": )",
                     scales, R"( constant "w_packed_int8_0": i8[256] constant "w_scales0": f32[32] }
    graph()",
                     scale, R"(, %w_packed_int8_0: i8[256] tensor_constant "w_packed_int8_0",
          %w_scales0: f32[32] tensor_constant "w_scales0", %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_int8_0, %w_scales0, none, none, none, 8, "int8", 4, "none", "add", -inf, inf)
)",
                     result),
        CpuPassTestOps());
  }
}

TEST(LowerLinear, LowersBFloat16Weights) {
  ExpectLoweredWith({}, R"(program edge {
    constants { state "w": bf16[8,4] }
    graph(%w: bf16[8,4] parameter "w", %x: f32[2,4] user_input) {
      %c: f32[8,4] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32)
      %t: f32[4,8] = edge.aten.permute_copy.default(%c, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%x, %t)
      return (%y user_output) } })",
                    R"(program edge {
    constants { constant "w_packed_bf16_0": bf16[256] }
    graph(%w_packed_bf16_0: bf16[256] tensor_constant "w_packed_bf16_0", %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%x, %w_packed_bf16_0, none, none, none, none, 8, "bf16", 0, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

constexpr std::string_view kDynamic = R"(program edge {
    constants { state "w": i8[8,32] state "b": f32[8] state "s": f32[8,4] state "z": i32[8,4] }
    graph(%w: i8[8,32] buffer "w", %b: f32[8] parameter "b", %s: f32[8,4] buffer "s",
          %z: i32[8,4] buffer "z", %q: i8[3,2,32] user_input, %qs: f64[3,2,1] user_input,
          %qz: i64[3,2,1] user_input) {
      %x: f32[3,2,32] = edge.quantized_decomposed.dequantize_per_token.default(%q, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %v: f32[6,32] = edge.aten.view_copy.default(%x, [6,32])
      %d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, %z, -8, 7, dtype:i8, 8, dtype:f32)
      %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[6,8] = edge.aten.addmm.default(%b, %v, %t)
      return (%y user_output) } })";

TEST(LowerLinear, LowersToDynamicQuantizedLinear) {
  ExpectLoweredWith({.i8 = 7}, kDynamic, R"(program edge {
    constants { state "b": f32[8] constant "w_packed_int4_0": i32[128] constant "w_scales0": bf16[128]
                constant "w_sums_of_8_0": i32[128] }
    graph(%b: f32[8] parameter "b", %w_packed_int4_0: i32[128] tensor_constant "w_packed_int4_0",
          %w_scales0: bf16[128] tensor_constant "w_scales0",
          %w_sums_of_8_0: i32[128] tensor_constant "w_sums_of_8_0", %q: i8[3,2,32] user_input,
          %qs: f64[3,2,1] user_input, %qz: i64[3,2,1] user_input) {
      %y_1: f32[3,2,8] = backend.belay_cpu.dynamic_quantized_linear.default(%q, %qs, %qz, %w_packed_int4_0, %w_scales0, %w_sums_of_8_0, %b, none, 8, "int4", 8, "none", "add", -inf, inf)
      %y: f32[6,8] = edge.aten.view_copy.default(%y_1, [6,8])
      return (%y user_output) } })");
}

// Rows of tokens that only this matmul reads are not stored quantized.
TEST(LowerLinear, QuantizesRowsOfTokens) {
  constexpr std::string_view kProgram = R"(program edge {
    constants { state "w": i8[8,32] state "s": f32[8,4] }
    graph(%w: i8[8,32] buffer "w", %s: f32[8,4] buffer "s", %f: f32[3,2,32] user_input) {
      %qs: f64[3,2,1], %qz: i64[3,2,1] = edge.quantized_decomposed.choose_qparams_per_token_asymmetric.default(%f, dtype:i8)
      %q: i8[3,2,32] = edge.quantized_decomposed.quantize_per_token.default(%f, %qs, %qz, $LOW, 127, dtype:i8)
      %x: f32[3,2,32] = edge.quantized_decomposed.dequantize_per_token.default(%q, %qs, %qz, $LOW, 127, dtype:i8, dtype:f32)
      %v: f32[6,32] = edge.aten.view_copy.default(%x, [6,32])
      %d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %s, none, -8, 7, dtype:i8, 8, dtype:f32)
      %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[6,8] = edge.aten.mm.default(%v, %t)
      return (%y user_output) } })";
  const auto with_low = [&](const char* low) {
    return absl::StrReplaceAll(std::string(kProgram), {{"$LOW", low}});
  };
  ExpectLoweredWith({.i8 = 7}, with_low("-128"), R"(program edge {
    constants { constant "w_packed_int4_0": i32[128] constant "w_scales0": bf16[128]
                constant "w_sums_of_8_0": i32[128] }
    graph(%w_packed_int4_0: i32[128] tensor_constant "w_packed_int4_0",
          %w_scales0: bf16[128] tensor_constant "w_scales0",
          %w_sums_of_8_0: i32[128] tensor_constant "w_sums_of_8_0", %f: f32[3,2,32] user_input) {
      %y_1: f32[3,2,8] = backend.belay_cpu.dynamic_quantized_linear.default(%f, none, none, %w_packed_int4_0, %w_scales0, %w_sums_of_8_0, none, none, 8, "int4", 8, "none", "add", -inf, inf)
      %y: f32[6,8] = edge.aten.view_copy.default(%y_1, [6,8])
      return (%y user_output) } })");
  // Another range.
  ExpectLoweredWith({.i8 = 7}, with_low("-127"), R"(program edge {
    constants { constant "w_packed_int4_0": i32[128] constant "w_scales0": bf16[128]
                constant "w_sums_of_8_0": i32[128] }
    graph(%w_packed_int4_0: i32[128] tensor_constant "w_packed_int4_0",
          %w_scales0: bf16[128] tensor_constant "w_scales0",
          %w_sums_of_8_0: i32[128] tensor_constant "w_sums_of_8_0", %f: f32[3,2,32] user_input) {
      %qs: f64[3,2,1], %qz: i64[3,2,1] = edge.quantized_decomposed.choose_qparams_per_token_asymmetric.default(%f, dtype:i8)
      %q: i8[3,2,32] = edge.quantized_decomposed.quantize_per_token.default(%f, %qs, %qz, -127, 127, dtype:i8)
      %y_1: f32[3,2,8] = backend.belay_cpu.dynamic_quantized_linear.default(%q, %qs, %qz, %w_packed_int4_0, %w_scales0, %w_sums_of_8_0, none, none, 8, "int4", 8, "none", "add", -inf, inf)
      %y: f32[6,8] = edge.aten.view_copy.default(%y_1, [6,8])
      return (%y user_output) } })");
}

// Weights with zero points are multiplied with floats; inputs with non-integer zero points are not
// lowered.
TEST(LowerLinear, DoesNotLowerOtherDynamicQuantization) {
  ExpectLoweredWith({.i8 = 7, .i32 = -3}, kDynamic, R"(program edge {
    constants { state "b": f32[8] constant "w_packed_int4_0": i32[128] constant "w_scales0": f32[128]
                constant "w_zeros0": f32[128] }
    graph(%b: f32[8] parameter "b", %w_packed_int4_0: i32[128] tensor_constant "w_packed_int4_0",
          %w_scales0: f32[128] tensor_constant "w_scales0",
          %w_zeros0: f32[128] tensor_constant "w_zeros0", %q: i8[3,2,32] user_input,
          %qs: f64[3,2,1] user_input, %qz: i64[3,2,1] user_input) {
      %x: f32[3,2,32] = edge.quantized_decomposed.dequantize_per_token.default(%q, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %v: f32[6,32] = edge.aten.view_copy.default(%x, [6,32])
      %y: f32[6,8] = backend.belay_cpu.weight_only_linear.default(%v, %w_packed_int4_0, %w_scales0, %w_zeros0, %b, none, 8, "int4", 8, "none", "add", -inf, inf)
      return (%y user_output) } })");
  ExpectLeftWith({.i8 = 7}, R"(program edge {
    constants { state "w": i8[8,32] state "s": f32[8] }
    graph(%w: i8[8,32] buffer "w", %s: f32[8] buffer "s", %q: i8[6,32] user_input,
          %qs: f32[6,1] user_input, %qz: f32[6,1] user_input) {
      %x: f32[6,32] = edge.quantized_decomposed.dequantize_per_token.default(%q, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %d: f32[8,32] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
      %t: f32[32,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[6,8] = edge.aten.mm.default(%x, %t)
      return (%y user_output) } })");
}

// The scales are [6, 1] and would not match the rows of a reshape.
TEST(LowerLinear, KeepsReshapesOfDynamicRows) {
  ExpectLoweredWith({}, R"(program edge {
    constants { state "w": i8[8,4] state "s": f32[8] }
    graph(%w: i8[8,4] buffer "w", %s: f32[8] buffer "s", %q: i8[3,2,4] user_input,
          %qs: f32[6,1] user_input, %qz: i64[6,1] user_input) {
      %v: i8[6,4] = edge.aten.view_copy.default(%q, [6,4])
      %x: f32[6,4] = edge.quantized_decomposed.dequantize_per_token.default(%v, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %d: f32[8,4] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
      %t: f32[4,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[6,8] = edge.aten.mm.default(%x, %t)
      %r: f32[3,2,8] = edge.aten.view_copy.default(%y, [3,2,8])
      return (%r user_output) } })",
                    R"(program edge {
    constants { constant "w_packed0": i8[64] constant "w_scales0": bf16[32]
                constant "w_sums_of_4_0": i32[32] }
    graph(%w_packed0: i8[64] tensor_constant "w_packed0",
          %w_scales0: bf16[32] tensor_constant "w_scales0",
          %w_sums_of_4_0: i32[32] tensor_constant "w_sums_of_4_0", %q: i8[3,2,4] user_input,
          %qs: f32[6,1] user_input, %qz: i64[6,1] user_input) {
      %v: i8[6,4] = edge.aten.view_copy.default(%q, [6,4])
      %y: f32[6,8] = backend.belay_cpu.dynamic_quantized_linear.default(%v, %qs, %qz, %w_packed0, %w_scales0, %w_sums_of_4_0, none, none, 8, "int8", 4, "none", "add", -inf, inf)
      %r: f32[3,2,8] = edge.aten.view_copy.default(%y, [3,2,8])
      return (%r user_output) } })");
}

TEST(LowerLinear, LowersPerTensorInputAndPerRowWeight) {
  ExpectLoweredWith({}, R"(program edge {
    constants { state "w": i8[8,4] state "s": f32[8,1] state "z": i64[8,1] }
    graph(%w: i8[8,4] buffer "w", %s: f32[8,1] buffer "s", %z: i64[8,1] buffer "z",
          %q: u8[6,4] user_input, %qs: f32[1] user_input, %qz: i64[1] user_input) {
      %x: f32[6,4] = edge.quantized_decomposed.dequantize_per_tensor.tensor(%q, %qs, %qz, 0, 255, dtype:u8)
      %d: f32[8,4] = edge.quantized_decomposed.dequantize_per_token.default(%w, %s, %z, -128, 127, dtype:i8, dtype:f32)
      %t: f32[4,8] = edge.aten.permute_copy.default(%d, [1,0])
      %y: f32[6,8] = edge.aten.mm.default(%x, %t)
      return (%y user_output) } })",
                    R"(program edge {
    constants { constant "w_packed0": i8[64] constant "w_scales0": bf16[32]
                constant "w_sums_of_4_0": i32[32] }
    graph(%w_packed0: i8[64] tensor_constant "w_packed0",
          %w_scales0: bf16[32] tensor_constant "w_scales0",
          %w_sums_of_4_0: i32[32] tensor_constant "w_sums_of_4_0", %q: u8[6,4] user_input,
          %qs: f32[1] user_input, %qz: i64[1] user_input) {
      %y: f32[6,8] = backend.belay_cpu.dynamic_quantized_linear.default(%q, %qs, %qz, %w_packed0, %w_scales0, %w_sums_of_4_0, none, none, 8, "int8", 4, "none", "add", -inf, inf)
      return (%y user_output) } })");
}

// Scales per row, groups of 6 and of columns, and scales that are too small.
TEST(LowerLinear, DoesNotLowerOtherScales) {
  ExpectLeftWith({}, R"(program edge {
    constants { state "w": i8[8,12] state "s": f32[8] state "g": f32[8,2] state "r": f32[8,1] }
    graph(%w: i8[8,12] buffer "w", %s: f32[8] buffer "s", %g: f32[8,2] buffer "g",
          %r: f32[8,1] buffer "r", %x: f32[2,8] user_input, %u: f32[2,12] user_input) {
      %a: f32[8,12] = edge.quantized_decomposed.dequantize_per_channel.default(%w, %s, none, 0, -127, 127, dtype:i8)
      %ay: f32[2,12] = edge.aten.mm.default(%x, %a)
      %b: f32[8,12] = edge.quantized_decomposed.dequantize_per_channel_group.default(%w, %g, none, -8, 7, dtype:i8, 6, dtype:f32)
      %by: f32[2,12] = edge.aten.mm.default(%x, %b)
      %bt: f32[12,8] = edge.aten.permute_copy.default(%b, [1,0])
      %bu: f32[2,8] = edge.aten.mm.default(%u, %bt)
      %c: f32[8,12] = edge.dim_order_ops._to_dim_order_copy.default(%w, dtype=dtype:f32)
      %m: f32[8,12] = edge.aten.mul.Tensor(%c, %r)
      %my: f32[2,12] = edge.aten.mm.default(%x, %m)
      %e: f32[8,12] = edge.quantized_decomposed.dequantize_per_tensor.default(%w, 1e-40, 0, -127, 127, dtype:i8)
      %ey: f32[2,12] = edge.aten.mm.default(%x, %e)
      return (%ay user_output, %by user_output, %bu user_output, %my user_output, %ey user_output) } })");
}

// Signed inputs, weights with a zero point, and float weights.
TEST(LowerLinear, DoesNotLowerOtherQuantization) {
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

// Unused constants are erased, except those that the program returns or mutates.
TEST(LowerLinear, KeepsReturnedOrMutatedConstants) {
  ExpectLowered(R"(program edge {
    constants { state "w": f32[4,8] state "u": f32[2] state "m": f32[2,8] }
    graph(%w: f32[4,8] parameter "w", %u: f32[2] parameter "u", %m: f32[2,8] buffer "m",
          %x: f32[2,4] user_input) {
      %y: f32[2,8] = edge.aten.mm.default(%x, %w)
      return (%y buffer_mutation "m", %w user_output) } })",
                R"(program edge {
    constants { state "m": f32[2,8] state "w": f32[4,8] constant "w_packed0": f32[128] }
    graph(%w: f32[4,8] parameter "w", %m: f32[2,8] buffer "m",
          %w_packed0: f32[128] tensor_constant "w_packed0", %x: f32[2,4] user_input) {
      %y: f32[2,8] = backend.belay_cpu.linear.default(%x, %w_packed0, none, none, 8, "none", "add", -inf, inf)
      return (%y buffer_mutation "m", %w user_output) } })");
}

// bfloat16: VNNI-2 layout, with a float32 bias.
TEST(LowerLinear, PacksBFloat16AsVnni2) {
  ExpectLowered(R"(program edge {
    constants { state "w": bf16[8,4] state "b": bf16[8] }
    graph(%w: bf16[8,4] parameter "w", %b: bf16[8] parameter "b", %x: bf16[2,3,4] user_input) {
      %t: bf16[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %r: bf16[6,4] = edge.aten.view_copy.default(%x, [6,4])
      %m: bf16[6,8] = edge.aten.addmm.default(%b, %r, %t)
      %y: bf16[2,3,8] = edge.aten.view_copy.default(%m, [2,3,8])
      return (%y user_output) } })",
                R"(program edge {
    constants { constant "b_bias0": f32[8] constant "w_packed_pairs_0": bf16[128] }
    graph(%b_bias0: f32[8] tensor_constant "b_bias0",
          %w_packed_pairs_0: bf16[128] tensor_constant "w_packed_pairs_0", %x: bf16[2,3,4] user_input) {
      %m: bf16[2,3,8] = backend.belay_cpu.bfloat16_linear.default(%x, %w_packed_pairs_0, %b_bias0, none, 8, "none", "add", -inf, inf)
      return (%m user_output) } })");
}

// WidenProducts converts them later.
TEST(LowerLinear, DoesNotLowerBFloat16WithOddKOrComputedBias) {
  ExpectLeft(R"(program edge {
    constants { state "w": bf16[3,8] }
    graph(%w: bf16[3,8] parameter "w", %x: bf16[2,3] user_input) {
      %y: bf16[2,8] = edge.aten.mm.default(%x, %w)
      return (%y user_output) } })");
  ExpectLeft(R"(program edge {
    constants { state "w": bf16[4,8] }
    graph(%w: bf16[4,8] parameter "w", %x: bf16[2,4] user_input, %b: bf16[8] user_input) {
      %y: bf16[2,8] = edge.aten.addmm.default(%b, %x, %w)
      return (%y user_output) } })");
  ExpectLeft(R"(program edge {
    constants { state "w": bf16[4,8] state "b": bf16[2,8] }
    graph(%w: bf16[4,8] parameter "w", %b: bf16[2,8] parameter "b", %x: bf16[2,4] user_input) {
      %y: bf16[2,8] = edge.aten.addmm.default(%b, %x, %w)
      return (%y user_output) } })");
  ExpectLeft(R"(program edge {
    graph(%w: bf16[4,8] user_input, %x: bf16[2,4] user_input) {
      %y: bf16[2,8] = edge.aten.mm.default(%x, %w)
      return (%y user_output) } })");
}

}  // namespace
}  // namespace belay::cpu
