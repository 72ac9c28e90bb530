#include "backends/cpu/aot/passes/simplify_quantization.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

// Q(x, …) and D(x, …) stand for the operators.
std::string Program(const std::string& body) {
  return absl::StrReplaceAll(body,
                             {{"Q(", "edge.quantized_decomposed.quantize_per_tensor.default("},
                              {"D(", "edge.quantized_decomposed.dequantize_per_tensor.default("},
                              {"C(", "edge.quantized_decomposed.dequantize_per_channel.default("}});
}
void ExpectSimplified(const std::string& before, const std::string& after) {
  FusedHandles handles;
  exir::ExpectRewrite(Program(before), SimplifyQuantization(handles).run, Program(after),
                      CpuPassTestOps());
}
void ExpectLeft(const std::string& before) {
  FusedHandles handles;
  exir::ExpectUnchanged(Program(before), SimplifyQuantization(handles).run, CpuPassTestOps());
}

TEST(SimplifyQuantization, SignedNumbersBecomeUnsigned) {
  ExpectSimplified(R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: i8[2,3] = Q(%x, 0.5, -3, -128, 127, dtype:i8)
      %a: f32[2,3] = D(%q, 0.5, -3, -128, 127, dtype:i8)
      %b: f32[2,3] = D(%q, 0.25, 5, -128, 127, dtype:i8)
      return (%a user_output, %b user_output) } })",
                   R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.5, 125, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 125, 0, 255, dtype:u8)
      %b: f32[2,3] = D(%q, 0.25, 133, 0, 255, dtype:u8)
      return (%a user_output, %b user_output) } })");
}

TEST(SimplifyQuantization, LeavesNumbersThatAreReturnedOrReadOtherwise) {
  ExpectLeft(R"(program edge { graph(%x: f32[2,3] user_input, %y: i8[2,3] user_input) {
      %q: i8[2,3] = Q(%x, 0.5, -3, -128, 127, dtype:i8)
      %a: f32[2,3] = D(%q, 0.5, -3, -128, 127, dtype:i8)
      %r: i8[2,3] = Q(%x, 0.5, 0, -128, 127, dtype:i8)
      %s: i8[2,3] = edge.aten.abs.default(%r)
      %b: f32[2,3] = D(%y, 0.5, -3, -128, 127, dtype:i8)
      return (%q user_output, %a user_output, %s user_output, %b user_output) } })");
}

TEST(SimplifyQuantization, LeavesUnusualParameters) {
  ExpectLeft(R"(program edge {
    graph(%x: f32[2,3] user_input, %s: f64[1] user_input, %z: i64[1] user_input) {
      %q: i8[2,3] = Q(%x, 1e-40, 0, -128, 127, dtype:i8)
      %a: f32[2,3] = D(%q, 1e-40, 0, -128, 127, dtype:i8)
      %r: i8[2,3] = Q(%x, 0.5, 300, -128, 127, dtype:i8)
      %b: f32[2,3] = D(%r, 0.5, 300, -128, 127, dtype:i8)
      %t: i16[2,3] = Q(%x, 0.5, 0, -32768, 32767, dtype:i16)
      %c: f32[2,3] = D(%t, 0.5, 0, -32768, 32767, dtype:i16)
      return (%a user_output, %b user_output, %c user_output) } })");
}

// A convolution's relu6, between two quantizations alike, is the range of the first.
TEST(SimplifyQuantization, ClampsAreRanges) {
  ExpectSimplified(R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.03125, 115, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.03125, 115, 0, 255, dtype:u8)
      %h: f32[2,3] = edge.aten.hardtanh.default(%a, 0.0, 4.0)
      %r: u8[2,3] = Q(%h, 0.03125, 115, 0, 255, dtype:u8)
      %b: f32[2,3] = D(%r, 0.03125, 115, 0, 255, dtype:u8)
      return (%b user_output) } })",
                   R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.03125, 115, 115, 243, dtype:u8)
      %b: f32[2,3] = D(%q, 0.03125, 115, 0, 255, dtype:u8)
      return (%b user_output) } })");
}

TEST(SimplifyQuantization, LeavesWhatOthersReadAndRangesWithoutTheZeroPoint) {
  ExpectLeft(R"(program edge { graph(%x: f32[2,3] user_input) {
      %h: f32[2,3] = edge.aten.relu.default(%x)
      %q: u8[2,3] = Q(%h, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %g: f32[2,3] = edge.aten.hardtanh.default(%x, 1.0, 4.0)
      %r: u8[2,3] = Q(%g, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = D(%r, 0.5, 3, 0, 255, dtype:u8)
      return (%h user_output, %a user_output, %b user_output) } })");
}

// The second one is narrower than the first, which somebody else reads.
TEST(SimplifyQuantization, LeavesARangeThatIsNotForAll) {
  ExpectLeft(R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %r: u8[2,3] = Q(%a, 0.5, 3, 3, 255, dtype:u8)
      %b: f32[2,3] = D(%r, 0.5, 3, 0, 255, dtype:u8)
      return (%a user_output, %b user_output) } })");
}

TEST(SimplifyQuantization, QuantizesBeforeWhatMovesElements) {
  ExpectSimplified(R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %x: f32[s0,3,4,4] user_input) {
      %q: u8[s0,3,4,4] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[s0,3,4,4] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %v: f32[s0,48] = edge.aten.view_copy.default(%a, [%n,48])
      %r: u8[s0,48] = Q(%v, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[s0,48] = D(%r, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output) } })",
                   R"(program edge {
    ranges { s0: [1,9] }
    graph(%n: symint(s0) user_input, %x: f32[s0,3,4,4] user_input) {
      %q: u8[s0,3,4,4] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %v: u8[s0,48] = edge.aten.view_copy.default(%q, [%n,48])
      %b: f32[s0,48] = D(%v, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output) } })");
}

// What is padded is the number that the value is quantized to; of another scale both stay.
TEST(SimplifyQuantization, QuantizesBeforePadding) {
  ExpectSimplified(R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %q: u8[1,3,4,4] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[1,3,4,4] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %p: f32[1,3,5,5] = edge.aten.constant_pad_nd.default(%a, [0,1,0,1], 1.0)
      %r: u8[1,3,5,5] = Q(%p, 0.25, 7, 0, 255, dtype:u8)
      %b: f32[1,3,5,5] = D(%r, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output) } })",
                   R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %q: u8[1,3,4,4] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[1,3,4,4] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %r: u8[1,3,4,4] = Q(%a, 0.25, 7, 0, 255, dtype:u8)
      %p: u8[1,3,5,5] = edge.aten.constant_pad_nd.default(%r, [0,1,0,1], 11)
      %b: f32[1,3,5,5] = D(%p, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output) } })");
}

TEST(SimplifyQuantization, QuantizesBeforeMaxima) {
  ExpectSimplified(R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %m: f32[1,3,2,2], %i: i64[1,3,2,2] = edge.aten.max_pool2d_with_indices.default(%x, [2,2], [2,2])
      %r: u8[1,3,2,2] = Q(%m, 0.25, 7, 0, 255, dtype:u8)
      %b: f32[1,3,2,2] = D(%r, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output) } })",
                   R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %r: u8[1,3,4,4] = Q(%x, 0.25, 7, 0, 255, dtype:u8)
      %m: u8[1,3,2,2], %i: i64[1,3,2,2] = edge.aten.max_pool2d_with_indices.default(%r, [2,2], [2,2])
      %b: f32[1,3,2,2] = D(%m, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output) } })");
}

TEST(SimplifyQuantization, LeavesMaximaWhosePlacesAreRead) {
  ExpectLeft(R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %m: f32[1,3,2,2], %i: i64[1,3,2,2] = edge.aten.max_pool2d_with_indices.default(%x, [2,2], [2,2])
      %r: u8[1,3,2,2] = Q(%m, 0.25, 7, 0, 255, dtype:u8)
      %b: f32[1,3,2,2] = D(%r, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output, %i user_output) } })");
}

TEST(SimplifyQuantization, QuantizesEachPartOfAConcatenation) {
  ExpectSimplified(R"(program edge { graph(%x: f32[2,3] user_input, %y: u8[2,3] user_input) {
      %a: f32[2,3] = D(%y, 0.5, 3, 0, 255, dtype:u8)
      %j: f32[4,3] = edge.aten.cat.default([%a, %x])
      %q: u8[4,3] = Q(%j, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[4,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output) } })",
                   R"(program edge { graph(%x: f32[2,3] user_input, %y: u8[2,3] user_input) {
      %q_1: u8[2,3] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %j: u8[4,3] = edge.aten.cat.default([%y, %q_1])
      %b: f32[4,3] = D(%j, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output) } })");
}

TEST(SimplifyQuantization, DequantizesBehindWhatMovesElements) {
  ExpectSimplified(R"(program edge { graph(%y: u8[2,3,4] user_input) {
      %a: f32[2,3,4] = D(%y, 0.5, 3, 0, 255, dtype:u8)
      %v: f32[6,4] = edge.aten.view_copy.default(%a, [6,4])
      %t: f32[4,6] = edge.aten.permute_copy.default(%v, [1,0])
      %c: f32[4,6] = edge.aten.abs.default(%t)
      %d: f32[2,3,4] = edge.aten.abs.default(%a)
      return (%c user_output, %d user_output) } })",
                   R"(program edge { graph(%y: u8[2,3,4] user_input) {
      %a: f32[2,3,4] = D(%y, 0.5, 3, 0, 255, dtype:u8)
      %v: u8[6,4] = edge.aten.view_copy.default(%y, [6,4])
      %t: u8[4,6] = edge.aten.permute_copy.default(%v, [1,0])
      %a_1_1: f32[4,6] = D(%t, 0.5, 3, 0, 255, dtype:u8)
      %c: f32[4,6] = edge.aten.abs.default(%a_1_1)
      %d: f32[2,3,4] = edge.aten.abs.default(%a)
      return (%c user_output, %d user_output) } })");
}

TEST(SimplifyQuantization, ChannelsFollowPermutations) {
  ExpectSimplified(R"(program edge {
    constants { state "w": i8[8,4] state "s": f32[8] }
    graph(%w: i8[8,4] parameter "w", %s: f32[8] parameter "s", %x: f32[2,4] user_input) {
      %d: f32[8,4] = C(%w, %s, none, 0, -127, 127, dtype:i8)
      %t: f32[4,8] = edge.aten.permute_copy.default(%d, [1,0])
      %v: f32[2,16] = edge.aten.view_copy.default(%d, [2,16])
      return (%t user_output, %v user_output) } })",
                   R"(program edge {
    constants { state "w": i8[8,4] state "s": f32[8] }
    graph(%w: i8[8,4] parameter "w", %s: f32[8] parameter "s", %x: f32[2,4] user_input) {
      %d: f32[8,4] = C(%w, %s, none, 0, -127, 127, dtype:i8)
      %t: i8[4,8] = edge.aten.permute_copy.default(%w, [1,0])
      %d_1: f32[4,8] = C(%t, %s, none, 1, -127, 127, dtype:i8)
      %v: f32[2,16] = edge.aten.view_copy.default(%d, [2,16])
      return (%d_1 user_output, %v user_output) } })");
}

// A clamp may make floats of integers, which nothing quantizes.
TEST(SimplifyQuantization, LeavesClampsOfIntegers) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: i64[2,4] user_input) {
      %c: f32[2,4] = edge.aten.clamp.default(%x, -1.5, 2.5)
      %q: u8[2,4] = edge.quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, 0, 255, dtype:u8)
      return (%q user_output) } })",
                        SimplifyQuantization(handles).run, CpuPassTestOps());
}

}  // namespace
}  // namespace belay::cpu
