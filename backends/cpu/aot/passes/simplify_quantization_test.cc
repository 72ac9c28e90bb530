#include "backends/cpu/aot/passes/simplify_quantization.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/text.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

void ExpectSimplified(const std::string& before, const std::string& after) {
  FusedHandles handles;
  exir::ExpectRewrite(exir::WithOperators(before), SimplifyQuantization(handles).run,
                      exir::WithOperators(after), CpuPassTestOps());
}
void ExpectLeft(const std::string& before) {
  FusedHandles handles;
  exir::ExpectUnchanged(exir::WithOperators(before), SimplifyQuantization(handles).run,
                        CpuPassTestOps());
}

TEST(SimplifyQuantization, ConvertsInt8ToUint8) {
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

TEST(SimplifyQuantization, ConvertsMovedInt8ToUint8) {
  ExpectSimplified(R"(program edge { graph(%x: f32[2,3,1,1] user_input) {
      %q: i8[2,3,1,1] = Q(%x, 0.5, -3, -128, 127, dtype:i8)
      %v: i8[2,3] = edge.aten.view_copy.default(%q, [2,3])
      %p: i8[3,2] = edge.aten.permute_copy.default(%v, [1,0])
      %a: f32[3,2] = D(%p, 0.5, -3, -128, 127, dtype:i8)
      %b: f32[2,3] = D(%v, 0.5, -3, -128, 127, dtype:i8)
      return (%a user_output, %b user_output) } })",
                   R"(program edge { graph(%x: f32[2,3,1,1] user_input) {
      %q: u8[2,3,1,1] = Q(%x, 0.5, 125, 0, 255, dtype:u8)
      %v: u8[2,3] = edge.aten.view_copy.default(%q, [2,3])
      %p: u8[3,2] = edge.aten.permute_copy.default(%v, [1,0])
      %a: f32[3,2] = D(%p, 0.5, 125, 0, 255, dtype:u8)
      %b: f32[2,3] = D(%v, 0.5, 125, 0, 255, dtype:u8)
      return (%a user_output, %b user_output) } })");
}

TEST(SimplifyQuantization, KeepsMovedInt8WithOtherUses) {
  ExpectLeft(R"(program edge { graph(%x: f32[2,3] user_input, %y: i8[2,3] user_input) {
      %q: i8[2,3] = Q(%x, 0.5, -3, -128, 127, dtype:i8)
      %v: i8[6] = edge.aten.view_copy.default(%q, [6])
      %a: f32[6] = D(%v, 0.5, -3, -128, 127, dtype:i8)
      %r: i8[2,3] = Q(%x, 0.5, 0, -128, 127, dtype:i8)
      %c: i8[4,3] = edge.aten.cat.default([%r,%y])
      %b: f32[4,3] = D(%c, 0.5, 0, -128, 127, dtype:i8)
      return (%v user_output, %a user_output, %b user_output) } })");
}

TEST(SimplifyQuantization, ConvertsInt8OperandsOfMatmuls) {
  ExpectSimplified(R"(program edge {
    constants { constant "w": i8[3,4] }
    graph(%w: i8[3,4] tensor_constant "w", %x: i8[2,3] user_input) {
      %c: f32[3,4] = D(%w, 0.25, 0, -127, 127, dtype:i8)
      %a: f32[2,3] = D(%x, 0.5, -3, -128, 127, dtype:i8)
      %y: f32[2,4] = edge.aten.mm.default(%a, %c)
      return (%y user_output) } })",
                   R"(program edge {
    constants { constant "w": i8[3,4] }
    graph(%w: i8[3,4] tensor_constant "w", %x: i8[2,3] user_input) {
      %c: f32[3,4] = D(%w, 0.25, 0, -127, 127, dtype:i8)
      %a: f32[2,3] = D(%x, 0.5, -3, -128, 127, dtype:i8)
      %a_1: u8[2,3] = Q(%a, 0.5, 125, 0, 255, dtype:u8)
      %a_2: f32[2,3] = D(%a_1, 0.5, 125, 0, 255, dtype:u8)
      %y: f32[2,4] = edge.aten.mm.default(%a_2, %c)
      return (%y user_output) } })");
}

TEST(SimplifyQuantization, KeepsInt8OperandsOfOtherMatmuls) {
  ExpectLeft(R"(program edge { graph(%x: i8[2,3] user_input, %w: f32[3,4] user_input) {
      %a: f32[2,3] = D(%x, 0.5, -3, -128, 127, dtype:i8)
      %y: f32[2,4] = edge.aten.mm.default(%a, %w)
      return (%y user_output) } })");
}

TEST(SimplifyQuantization, KeepsInt8WithOtherUses) {
  ExpectLeft(R"(program edge { graph(%x: f32[2,3] user_input, %y: i8[2,3] user_input) {
      %q: i8[2,3] = Q(%x, 0.5, -3, -128, 127, dtype:i8)
      %a: f32[2,3] = D(%q, 0.5, -3, -128, 127, dtype:i8)
      %r: i8[2,3] = Q(%x, 0.5, 0, -128, 127, dtype:i8)
      %s: i8[2,3] = edge.aten.abs.default(%r)
      %b: f32[2,3] = D(%y, 0.5, -3, -128, 127, dtype:i8)
      return (%q user_output, %a user_output, %s user_output, %b user_output) } })");
}

TEST(SimplifyQuantization, KeepsUnusualParameters) {
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

// A relu6 between two equal quantizations becomes the range of the first.
TEST(SimplifyQuantization, FoldsClampsIntoRanges) {
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

TEST(SimplifyQuantization, KeepsSharedClampsAndRangesWithoutTheZeroPoint) {
  ExpectLeft(R"(program edge { graph(%x: f32[2,3] user_input) {
      %h: f32[2,3] = edge.aten.relu.default(%x)
      %q: u8[2,3] = Q(%h, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %g: f32[2,3] = edge.aten.hardtanh.default(%x, 1.0, 4.0)
      %r: u8[2,3] = Q(%g, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = D(%r, 0.5, 3, 0, 255, dtype:u8)
      return (%h user_output, %a user_output, %b user_output) } })");
}

// The second one is narrower than the first, which has other users.
TEST(SimplifyQuantization, KeepsNarrowerRangeOfOneUser) {
  ExpectLeft(R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %r: u8[2,3] = Q(%a, 0.5, 3, 3, 255, dtype:u8)
      %b: f32[2,3] = D(%r, 0.5, 3, 0, 255, dtype:u8)
      return (%a user_output, %b user_output) } })");
}

TEST(SimplifyQuantization, HoistsOverDataMovement) {
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

// Pads with the quantized value; with another scale both nodes stay.
TEST(SimplifyQuantization, HoistsOverPadding) {
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

TEST(SimplifyQuantization, HoistsOverMaxPool) {
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

TEST(SimplifyQuantization, KeepsMaxPoolWithUsedIndices) {
  ExpectLeft(R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %m: f32[1,3,2,2], %i: i64[1,3,2,2] = edge.aten.max_pool2d_with_indices.default(%x, [2,2], [2,2])
      %r: u8[1,3,2,2] = Q(%m, 0.25, 7, 0, 255, dtype:u8)
      %b: f32[1,3,2,2] = D(%r, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output, %i user_output) } })");
}

TEST(SimplifyQuantization, HoistsOverConcatenation) {
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

TEST(SimplifyQuantization, SinksOverDataMovement) {
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

TEST(SimplifyQuantization, PermutesTheChannelAxis) {
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

// A clamp may convert integers to floats.
TEST(SimplifyQuantization, KeepsIntegerClamps) {
  FusedHandles handles;
  exir::ExpectUnchanged(R"(program edge {
    graph(%x: i64[2,4] user_input) {
      %c: f32[2,4] = edge.aten.clamp.default(%x, -1.5, 2.5)
      %q: u8[2,4] = edge.quantized_decomposed.quantize_per_tensor.default(%c, 0.5, 3, 0, 255, dtype:u8)
      return (%q user_output) } })",
                        SimplifyQuantization(handles).run, CpuPassTestOps());
}

// Expects that `body`, which computes %y, is unchanged.
void ExpectStays(const std::string& body) {
  FusedHandles handles;
  ExpectLeftAsItIs(exir::WithOperators(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "w": i8[8,4] state "s": f32[8] state "c": i8[2,8,4] }
    graph(%w: i8[8,4] parameter "w", %s: f32[8] parameter "s", %c: i8[2,8,4] parameter "c",
          %x: f32[1,3,4,4] user_input, %i: i64[1,3,4,4] user_input, %q: u8[1,3,4,4] user_input,
          %n: symint(s0) user_input, %f: symfloat(zf0) user_input, %t: f32[] user_input) {
      )" + body + " return (%y user_output) } }"),
                   SimplifyQuantization(handles).run);
}

TEST(SimplifyQuantization, KeepsUnrepresentableOperations) {
  // Ranges without the zero point, bounds outside of it, clamps without an operand.
  ExpectStays(
      "%r: f32[1,3,4,4] = edge.aten.relu.default(%x) "
      "%y: u8[1,3,4,4] = Q(%r, 0.5, 3, 4, 255, dtype:u8)");
  ExpectStays(
      "%r: f32[1,3,4,4] = edge.aten.clamp.default(%x, 1.0, 6.0) "
      "%y: u8[1,3,4,4] = Q(%r, 0.5, 3, 0, 255, dtype:u8)");
  ExpectStays(
      "%r: f32[1,3,4,4] = edge.aten.relu.default(3.0) "
      "%y: u8[1,3,4,4] = Q(%r, 0.5, 3, 0, 255, dtype:u8)");
  ExpectStays(
      "%r: f32[1,3,4,4] = edge.aten.relu.default(%n) "
      "%y: u8[1,3,4,4] = Q(%r, 0.5, 3, 0, 255, dtype:u8)");
  // Padding with NaN or unknown values.
  for (const std::string pad : {"nan", "%f", "\"x\""}) {
    ExpectStays("%p: f32[1,3,5,5] = edge.aten.constant_pad_nd.default(%x, [0,1,0,1], " + pad +
                ") %y: u8[1,3,5,5] = Q(%p, 0.25, 7, 0, 255, dtype:u8)");
  }
  // Data movement of other dtypes or of scalars.
  for (const std::string operand : {"%i", "%n", "3"}) {
    ExpectStays("%p: f32[1,3,5,5] = edge.aten.constant_pad_nd.default(" + operand +
                ", [0,1,0,1], 0) %y: u8[1,3,5,5] = Q(%p, 0.25, 7, 0, 255, dtype:u8)");
    ExpectStays("%p: f32[48] = edge.aten.view_copy.default(" + operand +
                ", [48]) %y: u8[48] = Q(%p, 0.25, 7, 0, 255, dtype:u8)");
  }
  ExpectStays(
      "%p: f32[1,3,4,4] = edge.aten.cat.default([%x, %i]) "
      "%y: u8[1,3,4,4] = Q(%p, 0.25, 7, 0, 255, dtype:u8)");
  ExpectStays(
      "%p: f32[0] = edge.aten.cat.default([]) %y: u8[0] = Q(%p, 0.25, 7, 0, 255, dtype:u8)");
}

TEST(SimplifyQuantization, KeepsDilatedOrReturnedMaxPool) {
  const std::string quantized = "%y: u8[1,3,2,2] = Q(%m, 0.25, 7, 0, 255, dtype:u8)";
  for (const std::string numbers :
       {"[2,2], [1,1], [0,0], [2,2]", "[2,2], [1,1], [0,0], [1,2]", "[2,2], [1,1], [0,0], 2"}) {
    ExpectStays(
        "%m: f32[1,3,2,2], %i1: i64[1,3,2,2] = "
        "edge.aten.max_pool2d_with_indices.default(%x, " +
        numbers + ") " + quantized);
  }
  ExpectStays(
      "%m: f32[1,3,2,2], %i1: i64[1,3,2,2] = "
      "edge.aten.max_pool2d_with_indices.default(%x, [2,2], [2,2]) "
      "%j: i64[1,3,2,2] = edge.aten.abs.default(%i1) " +
      quantized);
}

// The same zero point and scale with a narrower range, on bytes of unknown range.
TEST(SimplifyQuantization, KeepsRangesThatCannotBeFolded) {
  const auto stays = [](const std::string& before, const std::string& range,
                        const std::string& beside = "") {
    ExpectStays(before + "%r: u8[1,3,4,4] = Q(%a, " + range + ", dtype:u8) " +
                "%y: f32[1,3,4,4] = D(%r, 0.125, 3, 0, 255, dtype:u8) " + beside);
  };
  const std::string unknown = "%a: f32[1,3,4,4] = D(%q, 0.5, 3, 0, 255, dtype:u8) ";
  stays(unknown, "0.5, 3, 1, 255");
  stays(unknown, "0.5, 3, 0, 254");
  stays(unknown, "0.25, 3, 0, 255");
  stays(unknown, "0.5, 4, 0, 255");
  // A known range: another scale, a range without the zero point, and other users.
  const auto known = [](const std::string& numbers) {
    return "%b: u8[1,3,4,4] = Q(%x, " + numbers + ", dtype:u8) " +
           "%a: f32[1,3,4,4] = D(%b, 0.5, 3, 0, 255, dtype:u8) ";
  };
  stays(known("0.25, 3, 0, 255"), "0.5, 3, 1, 255");
  stays(known("0.5, 3, 4, 255"), "0.5, 3, 0, 254");
  stays(known("0.5, 3, 0, 255"), "0.5, 3, 1, 255", "%z: f32[1,3,4,4] = edge.aten.abs.default(%a)");
  stays(known("0.5, 3, 0, 255"), "0.5, 3, 1, 255",
        "%z: u8[1,3,4,4] = edge.aten.bitwise_not.default(%b)");
  // A graph output.
  ExpectStays(unknown + "%y: u8[1,3,4,4] = Q(%a, 0.5, 3, 0, 255, dtype:u8)");
}

// Requantization with a full range is removed even if the value has other users.
TEST(SimplifyQuantization, RemovesRequantizationOfSharedValues) {
  ExpectSimplified(R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.25, 3, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %c: f32[2,3] = edge.aten.abs.default(%a)
      %r: u8[2,3] = Q(%a, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = D(%r, 0.125, 3, 0, 255, dtype:u8)
      return (%b user_output, %c user_output) } })",
                   R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.25, 3, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %c: f32[2,3] = edge.aten.abs.default(%a)
      %b: f32[2,3] = D(%q, 0.125, 3, 0, 255, dtype:u8)
      return (%b user_output, %c user_output) } })");
}

// The producer of the bytes gets the handles of erased nodes.
TEST(SimplifyQuantization, KeepsHandlesOfErasedNodes) {
  FusedHandles handles;
  exir::ExportedProgram program =
      exir::ParseOrDie(exir::WithOperators(R"(program edge { graph(%x: u8[2,3] user_input) {
      %q: u8[2,3] = edge.aten.bitwise_not.default(%x) handle=1
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8) handle=2
      %r: u8[2,3] = Q(%a, 0.5, 3, 0, 255, dtype:u8) handle=3
      %b: u8[2,3] = edge.aten.bitwise_not.default(%r) handle=4
      return (%b user_output) } })"),
                       CpuPassTestOps());
  ASSERT_TRUE(SimplifyQuantization(handles).run(program).ok());
  EXPECT_THAT(handles.MapOf(program).value(),
              UnorderedElementsAre(Pair(1, ElementsAre(1, 2, 3)), Pair(4, ElementsAre(4))));
}

TEST(SimplifyQuantization, NarrowsTheProducerRange) {
  ExpectSimplified(R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.5, 3, 0, 255, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %r: u8[2,3] = Q(%a, 0.5, 3, 1, 200, dtype:u8)
      %b: f32[2,3] = D(%r, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output) } })",
                   R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.5, 3, 1, 200, dtype:u8)
      %b: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output) } })");
  // A range that is wide enough already.
  ExpectSimplified(R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.5, 3, 2, 100, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %r: u8[2,3] = Q(%a, 0.5, 3, 1, 200, dtype:u8)
      %b: f32[2,3] = D(%r, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output, %a user_output) } })",
                   R"(program edge { graph(%x: f32[2,3] user_input) {
      %q: u8[2,3] = Q(%x, 0.5, 3, 2, 100, dtype:u8)
      %a: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      %b: f32[2,3] = D(%q, 0.5, 3, 0, 255, dtype:u8)
      return (%b user_output, %a user_output) } })");
}

TEST(SimplifyQuantization, HoistsOverPaddingWithoutValue) {
  ExpectSimplified(R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %p: f32[1,3,5,5] = edge.aten.constant_pad_nd.default(%x, [0,1,0,1])
      %r: u8[1,3,5,5] = Q(%p, 0.25, 7, 0, 255, dtype:u8)
      %b: f32[1,3,5,5] = D(%r, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output) } })",
                   R"(program edge { graph(%x: f32[1,3,4,4] user_input) {
      %r: u8[1,3,4,4] = Q(%x, 0.25, 7, 0, 255, dtype:u8)
      %p: u8[1,3,5,5] = edge.aten.constant_pad_nd.default(%r, [0,1,0,1], 7)
      %b: f32[1,3,5,5] = D(%p, 0.25, 7, 0, 255, dtype:u8)
      return (%b user_output) } })");
}

TEST(SimplifyQuantization, SinksOverMaxPool) {
  ExpectSimplified(R"(program edge { graph(%q: u8[1,3,4,4] user_input) {
      %a: f32[1,3,4,4] = D(%q, 0.25, 7, 0, 255, dtype:u8)
      %m: f32[1,3,2,2], %i: i64[1,3,2,2] = edge.aten.max_pool2d_with_indices.default(%a, [2,2], [2,2])
      return (%m user_output) } })",
                   R"(program edge { graph(%q: u8[1,3,4,4] user_input) {
      %m: u8[1,3,2,2], %i: i64[1,3,2,2] = edge.aten.max_pool2d_with_indices.default(%q, [2,2], [2,2])
      %a_1: f32[1,3,2,2] = D(%m, 0.25, 7, 0, 255, dtype:u8)
      return (%a_1 user_output) } })");
}

// Returns the channel axis of %w [8,4] or %c [2,8,4] after `node`; "" if the dequantization is not
// moved.
std::string AxisBehind(const std::string& constant, const std::string& axis,
                       const std::string& node) {
  exir::ExportedProgram program = exir::ParseOrDie(exir::WithOperators(R"(program edge {
    ranges { s0: [1,9] }
    constants { state "w": i8[8,4] state "s": f32[8] state "c": i8[2,8,4] }
    graph(%w: i8[8,4] parameter "w", %s: f32[8] parameter "s", %c: i8[2,8,4] parameter "c",
          %n: symint(s0) user_input) {
      %d: )" + constant + "%s, none, " + axis + R"(, -127, 127, dtype:i8)
      %y: )" + node + " return (%y user_output) } }"),
                                                   CpuPassTestOps());
  FusedHandles handles;
  if (!SimplifyQuantization(handles).run(program).ok()) return "error";
  for (exir::NodeId id : program.top().nodes()) {
    const exir::Node& node = program.top().node(id);
    if (node.name == "d_1") return exir::PrintArgument(program.top(), node.argument("axis"));
  }
  return "";
}

TEST(SimplifyQuantization, TransposesTheChannelAxis) {
  const std::string w = "f32[8,4] = C(%w, ", c = "f32[2,8,4] = C(%c, ";
  EXPECT_EQ(AxisBehind(w, "0", "f32[4,8] = edge.aten.t_copy.default(%d)"), "1");
  EXPECT_EQ(AxisBehind(w, "-2", "f32[4,8] = edge.aten.t_copy.default(%d)"), "1");
  EXPECT_EQ(AxisBehind(w, "1", "f32[4,8] = edge.aten.t_copy.default(%d)"), "0");
  EXPECT_EQ(AxisBehind(c, "1", "f32[8,2,4] = edge.aten.transpose_copy.int(%d, 0, 1)"), "0");
  EXPECT_EQ(AxisBehind(c, "1", "f32[2,4,8] = edge.aten.transpose_copy.int(%d, -1, 1)"), "2");
  EXPECT_EQ(AxisBehind(c, "1", "f32[4,8,2] = edge.aten.transpose_copy.int(%d, 0, 2)"), "1");
  EXPECT_EQ(AxisBehind(c, "1", "f32[8,4,2] = edge.aten.permute_copy.default(%d, [-2,2,0])"), "0");
  // Unknown axes and invalid permutations.
  EXPECT_EQ(AxisBehind(w, "%n", "f32[4,8] = edge.aten.t_copy.default(%d)"), "");
  EXPECT_EQ(AxisBehind(w, "0", "f32[4,8] = edge.aten.permute_copy.default(%d, [1,%n])"), "");
  EXPECT_EQ(AxisBehind(w, "0", "f32[4,8] = edge.aten.view_copy.default(%d, [4,8])"), "");
  EXPECT_EQ(AxisBehind(c, "1", "f32[2,8,4] = edge.aten.t_copy.default(%d)"), "");
}

// Dequantizations are not moved over several operands, or over one that is not the first.
TEST(SimplifyQuantization, KeepsNodesWithTwoMovedOperands) {
  ExpectStays(
      "%a: f32[1,3,4,4] = D(%q, 0.5, 3, 0, 255, dtype:u8) "
      "%y: f32[2,3,4,4] = edge.aten.cat.default([%a, %a])");
  ExpectStays(
      "%a: f32[1,3,4,4] = D(%q, 0.5, 3, 0, 255, dtype:u8) "
      "%y: f32[1,3,4,4] = edge.aten.add.Tensor(%x, %a)");
}

// The pass is not recursive: any nesting of concatenations is supported.
TEST(SimplifyQuantization, HoistsOverNestedConcatenations) {
  constexpr int kCount = 20'000;
  std::string body =
      "program edge { graph(%x: f32[1] user_input) {\n"
      "%c0: f32[2] = edge.aten.cat.default([%x, %x])\n";
  for (int i = 1; i < kCount; ++i) {
    absl::StrAppend(&body, "%f", i, ": f32[1] = edge.aten.full.default([1], 0.0)\n%c", i, ": f32[",
                    i + 2, "] = edge.aten.cat.default([%f", i, ", %c", i - 1, "])\n");
  }
  absl::StrAppend(&body, "%y: u8[", kCount + 1, "] = Q(%c", kCount - 1,
                  ", 0.5, 3, 0, 255, dtype:u8) return (%y user_output) } }");
  exir::ExportedProgram program = exir::ParseOrDie(exir::WithOperators(body), CpuPassTestOps());
  FusedHandles handles;
  ASSERT_TRUE(SimplifyQuantization(handles).run(program).ok());
  const exir::Graph& graph = program.top();
  EXPECT_EQ(graph.value(exir::FindValue(graph, "c0")).tensor()->dtype, DType::kUint8);
}

}  // namespace
}  // namespace belay::cpu
