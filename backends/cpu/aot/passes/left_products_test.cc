// Matmuls and convolutions that the backend does not lower, each for one reason.
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "backends/cpu/aot/passes/lower_conv2d.h"
#include "backends/cpu/aot/passes/lower_linear.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

void ExpectProductLeft(std::string_view body, const Numbers& numbers = {}) {
  FusedHandles handles;
  ExpectLeftAsItIs(exir::WithOperators(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w": f32[4,8] constant "w1": f32[4] constant "w4": f32[1,1,4,8]
                constant "w64": f64[4,8] constant "wh": f16[4,8] constant "none": f32[0,8]
                constant "bare": f32[4,0] constant "i": i8[4,8] constant "long": i8[65537,8]
                constant "i4": i8[1,1,4,8] constant "rows": f32[4] constant "b": f32[8]
                constant "b64": f64[8] constant "bf": bf16[4,8] constant "z": i32[8]
                constant "big": i8[8,65544] constant "cols": f32[8] constant "g": f32[8,1] }
    graph(%w: f32[4,8] tensor_constant "w", %w1: f32[4] tensor_constant "w1",
          %w4: f32[1,1,4,8] tensor_constant "w4", %w64: f64[4,8] tensor_constant "w64",
          %wh: f16[4,8] tensor_constant "wh", %none: f32[0,8] tensor_constant "none",
          %bare: f32[4,0] tensor_constant "bare", %i: i8[4,8] tensor_constant "i",
          %long: i8[65537,8] tensor_constant "long", %i4: i8[1,1,4,8] tensor_constant "i4",
          %rows: f32[4] tensor_constant "rows", %b: f32[8] tensor_constant "b",
          %b64: f64[8] tensor_constant "b64", %bf: bf16[4,8] tensor_constant "bf",
          %z: i32[8] tensor_constant "z", %big: i8[8,65544] tensor_constant "big",
          %cols: f32[8] tensor_constant "cols", %g: f32[8,1] tensor_constant "g",
          %x: f32[2,4] user_input, %x0: f32[2,0] user_input, %x64: f64[2,4] user_input,
          %n: symint(s0) user_input, %m: f32[4,8] user_input, %b1: f32[2,8] user_input,
          %q: u8[2,4] user_input, %ql: u8[2,65537] user_input, %qs: f32[2,1] user_input,
          %qz: i64[2,1] user_input, %q3: i8[1,2,4] user_input, %q3s: f32[1,2,1] user_input,
          %q3z: i64[1,2,1] user_input, %qb: i8[2,65544] user_input, %q8: i8[4,2] user_input) {
      )",
                                                    body, " return (%y user_output) } }")),
                   LowerLinear(handles).run, numbers);
}

TEST(UnloweredMatmuls, RequireConstantFloatMatrices) {
  for (std::string_view body : {
           "%y: f32[2,8] = edge.aten.mm.default(%x, %m)",
           "%y: f32[2,8] = edge.aten.mm.default(%x, 3)",
           "%y: f32[2] = edge.aten.mm.default(%x, %w1)",
           "%y: f32[2,8] = edge.aten.mm.default(%x, %w4)",
           "%y: f32[2,8] = edge.aten.mm.default(%x, %w64)",
           "%y: f32[2,8] = edge.aten.mm.default(%x, %wh)",
           "%y: f64[2,8] = edge.aten.mm.default(%x64, %w)",
           "%y: f32[2,8] = edge.aten.mm.default(%n, %w)",
           "%y: f32[2,8] = edge.aten.mm.default(2, %w)",
           "%y: f32[2,8] = edge.aten.mm.default(%x0, %none)",
           "%y: f32[2,0] = edge.aten.mm.default(%x, %bare)",
           "%e: f32[s0,8] = edge.aten.expand_copy.default(%b, [%n,8]) "
           "%y: f32[2,8] = edge.aten.mm.default(%x, %e)",
           "%y: f32[2,8] = edge.aten.matmul.default(%x, %w)",
       }) {
    ExpectProductLeft(body);
  }
}

TEST(UnloweredMatmuls, RequirePlainSums) {
  for (std::string_view sum :
       {"addmm.default(%b64, %x, %w)", "addmm.default(%b1, %x, %w)", "addmm.default(2, %x, %w)",
        "addmm.default(%n, %x, %w)", "addmm.default(%rows, %x, %w)",
        "addmm.default(%b, %x, %w, alpha=%n)", "addmm.default(%b, %x, %w, beta=%n)"}) {
    ExpectProductLeft(absl::StrCat("%y: f32[2,8] = edge.aten.", sum));
  }
  ExpectProductLeft("%y: f64[2,8] = edge.aten.addmm.default(%b, %x, %w)");
  ExpectProductLeft("%y: symint(s0) = edge.aten.addmm.default(%b, %x, %w)");
}

TEST(UnloweredMatmuls, WithUnsupportedQuantization) {
  for (std::string_view body : {
           // Scales per row, other bytes, too many terms.
           "%d: f32[2,4] = D(%q, 0.5, 3, 0, 255, dtype:u8) "
           "%c: f32[4,8] = C(%i, %rows, none, 0, -127, 127, dtype:i8) "
           "%y: f32[2,8] = edge.aten.mm.default(%d, %c)",
           "%d: f32[2,4] = D(%q, 0.5, 3, 0, 255, dtype:u8) "
           "%c: f32[1,1,4,8] = D(%i4, 0.5, 0, -127, 127, dtype:i8) "
           "%y: f32[2,8] = edge.aten.mm.default(%d, %c)",
           "%d: f32[2,65537] = D(%ql, 0.5, 3, 0, 255, dtype:u8) "
           "%c: f32[65537,8] = D(%long, 0.5, 0, -127, 127, dtype:i8) "
           "%y: f32[2,8] = edge.aten.mm.default(%d, %c)",
           "%d: f32[2,4] = D(%q, 0.5, 3, 0, 255, dtype:u8) "
           "%y: f32[2,8] = edge.aten.mm.default(%d, %m)",
       }) {
    ExpectProductLeft(body);
  }
}

TEST(UnloweredMatmuls, WithDynamicQuantization) {
  for (std::string_view body : {
           // A batch; bfloat16; a computed weight; a reshape of columns or of a scalar.
           "%d: f32[1,2,4] = R(%q3, %q3s, %q3z, -128, 127, dtype:i8, dtype:f32) "
           "%y: f32[1,2,8] = edge.aten.bmm.default(%d, %m)",
           "%d: f32[2,4] = R(%q, %qs, %qz, -128, 127, dtype:i8, dtype:f32) "
           "%y: f32[2,8] = edge.aten.mm.default(%d, %m)",
           "%d: f32[4,2] = R(%q8, %qs, %qz, -128, 127, dtype:i8, dtype:f32) %v: f32[2,4] = V(%d, "
           "[2,4]) "
           "%y: f32[2,8] = edge.aten.mm.default(%v, %m)",
           "%v: f32[2,4] = V(3, [2,4]) %y: f32[2,8] = edge.aten.mm.default(%v, %m)",
           "%v: f32[1,2,4] = V(%x, [1,2,4]) %y: f32[1,2,8] = edge.aten.bmm.default(%v, %m)",
           "%v: f32[2,4] = V(%n, [2,4]) %y: f32[2,8] = edge.aten.mm.default(%v, %m)",
       }) {
    ExpectProductLeft(body);
  }
}

// Sums of more than kMaxTerms terms would overflow, so floats are multiplied.
TEST(UnloweredMatmuls, WithGroupsThatAreTooLong) {
  FusedHandles handles;
  const std::string head = exir::WithOperators(R"(program edge {
    constants { constant "w": i8[8,65544] constant "s": f32[8] }
    graph(%w: i8[8,65544] tensor_constant "w", %s: f32[8] tensor_constant "s",
          %q: i8[2,65544] user_input, %qs: f32[2,1] user_input, %qz: i64[2,1] user_input) {
      %d: f32[2,65544] = R(%q, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %c: f32[8,65544] = C(%w, %s, none, 0, -127, 127, dtype:i8)
      %t: f32[65544,8] = P(%c, [1,0])
      %y: f32[2,8] = edge.aten.mm.default(%d, %t)
      return (%y user_output) } })");
  exir::ExpectRewrite(
      head,
      [&](exir::ExportedProgram& program) {
        Fill(program, {});
        return LowerLinear(handles).run(program);
      },
      exir::WithOperators(R"(program edge {
    constants { constant "w_packed_int8_0": i8[2097408] constant "w_scales0": f32[32] }
    graph(%w_packed_int8_0: i8[2097408] tensor_constant "w_packed_int8_0",
          %w_scales0: f32[32] tensor_constant "w_scales0",
          %q: i8[2,65544] user_input, %qs: f32[2,1] user_input, %qz: i64[2,1] user_input) {
      %d: f32[2,65544] = R(%q, %qs, %qz, -128, 127, dtype:i8, dtype:f32)
      %y: f32[2,8] = backend.belay_cpu.weight_only_linear.default(%d, %w_packed_int8_0, %w_scales0, none, none, none, 8, "int8", 65544, "none", "add", -inf, inf)
      return (%y user_output) } })"),
      CpuPassTestOps());
}

void ExpectConvolutionLeft(std::string_view body) {
  ExpectLeftAsItIs(exir::WithOperators(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w": f32[8,3,3,3] constant "w3": f32[8,3,3] constant "w64": f64[8,3,3,3]
                constant "none": f32[8,3,0,3] constant "wide": f32[1,1,1,16777217]
                constant "i": i8[8,3,3,3] constant "s": f32[3] constant "many": i8[1,1,257,256]
                constant "deep": i8[1,65537,1,1] constant "g": f32[6,1,3,3]
                constant "two": f32[6,3,3,3] }
    graph(%w: f32[8,3,3,3] tensor_constant "w", %w3: f32[8,3,3] tensor_constant "w3",
          %w64: f64[8,3,3,3] tensor_constant "w64", %none: f32[8,3,0,3] tensor_constant "none",
          %wide: f32[1,1,1,16777217] tensor_constant "wide",
          %i: i8[8,3,3,3] tensor_constant "i", %s: f32[3] tensor_constant "s",
          %many: i8[1,1,257,256] tensor_constant "many",
          %deep: i8[1,65537,1,1] tensor_constant "deep", %g: f32[6,1,3,3] tensor_constant "g",
          %two: f32[6,3,3,3] tensor_constant "two", %x: f32[1,3,9,9] user_input,
          %x3: f32[3,9,9] user_input, %x64: f64[1,3,9,9] user_input, %n: symint(s0) user_input,
          %m: f32[8,3,3,3] user_input, %xs: f32[1,s0,9,9] user_input,
          %xw: f32[1,1,1,16777217] user_input, %x6: f32[1,6,9,9] user_input,
          %q: u8[1,3,9,9] user_input, %qi: i8[1,3,9,9] user_input,
          %ql: u8[1,1,300,300] user_input, %qd: u8[1,65537,1,1] user_input,
          %p: b8[] user_input) {
      )",
                                                    body, " return (%y user_output) } }")),
                   LowerConv2d().run);
}

TEST(UnloweredConvolutions, WithOtherImagesAndWeights) {
  constexpr std::string_view kRest = ", none, [1], [0], [1], false, [0], 1)";
  for (std::string_view operands : {"%x3, %w", "%x64, %w", "%n, %w", "3, %w", "%x, %m", "%x, %w3",
                                    "%x, %w64", "%x, %none", "%xw, %wide", "%xs, %w", "%x6, %w"}) {
    ExpectConvolutionLeft(absl::StrCat("%y: f32[1,8,7,7] = Conv(", operands, kRest));
  }
  // Of groups that do not divide channels.
  ExpectConvolutionLeft("%y: f32[1,6,7,7] = Conv(%x6, %two, none, [1], [0], [1], false, [0], 0)");
  ExpectConvolutionLeft("%y: f32[1,6,7,7] = Conv(%x6, %two, none, [1], [0], [1], false, [0], -2)");
  ExpectConvolutionLeft("%y: f32[1,6,7,7] = Conv(%x6, %two, none, [1], [0], [1], false, [0], 4)");
  ExpectConvolutionLeft("%y: f32[1,6,7,7] = Conv(%x6, %two, none, [1], [0], [1], false, [0], 6)");
  ExpectConvolutionLeft(
      "%e: f32[s0,8,3,3,3] = edge.aten.expand_copy.default(%w, [%n,8,3,3,3]) "
      "%y: f32[1,8,7,7] = Conv(%x, %e, none, [1], [0], [1], false, [0], 1)");
}

TEST(UnloweredConvolutions, WithOtherParameters) {
  for (std::string_view numbers :
       {"[0], [0], [1], false, [0], 1", "[1], [-1], [1], false, [0], 1",
        "[1], [0], [0], false, [0], 1", "[1,1,1], [0], [1], false, [0], 1",
        "[1], [0], [%n], false, [0], 1", "[1], [0], [1], true, [0], 1",
        "[1], [0], [1], false, [0], %n", "[1], [16777217], [1], false, [0], 1"}) {
    ExpectConvolutionLeft(absl::StrCat("%y: f32[1,8,7,7] = Conv(%x, %w, none, ", numbers, ")"));
  }
}

TEST(UnloweredConvolutions, WithUnsupportedQuantization) {
  const std::string_view input = "%d: f32[1,3,9,9] = D(%q, 0.5, 3, 0, 255, dtype:u8) ";
  const std::string_view weight = "%c: f32[8,3,3,3] = D(%i, 0.5, 0, -127, 127, dtype:i8) ";
  const std::string_view convolution =
      "%y: f32[1,8,7,7] = Conv(%d, %c, none, [1], [0], [1], false, [0], 1)";
  for (const std::string& body : {
           // Weights of float32, of int8, with scales per input channel.
           absl::StrCat(weight,
                        "%y: f32[1,8,7,7] = Conv(%x, %c, none, [1], [0], [1], false, [0], 1)"),
           absl::StrCat("%d: f32[1,3,9,9] = D(%qi, 0.5, 3, -128, 127, dtype:i8) ", weight,
                        convolution),
           absl::StrCat(input, "%c: f32[8,3,3,3] = C(%i, %s, none, 1, -127, 127, dtype:i8) ",
                        convolution),
           // Unusual products of scales.
           absl::StrCat("%d: f32[1,3,9,9] = D(%q, 1.0e-20, 3, 0, 255, dtype:u8) "
                        "%c: f32[8,3,3,3] = D(%i, 1.0e-20, 0, -127, 127, dtype:i8) ",
                        convolution),
           std::string("%d: f32[1,1,300,300] = D(%ql, 0.5, 3, 0, 255, dtype:u8) "
                       "%c: f32[1,1,257,256] = D(%many, 0.5, 0, -127, 127, dtype:i8) "
                       "%y: f32[1,1,44,45] = Conv(%d, %c, none, [1], [0], [1], false, [0], 1)"),
           std::string("%d: f32[1,65537,1,1] = D(%qd, 0.5, 3, 0, 255, dtype:u8) "
                       "%c: f32[1,65537,1,1] = D(%deep, 0.5, 0, -127, 127, dtype:i8) "
                       "%y: f32[1,1,1,1] = Conv(%d, %c, none, [1], [0], [1], false, [0], 1)"),
       }) {
    ExpectConvolutionLeft(body);
  }
}

// Nonzero, non-spatial or negative pads stay; only the convolution is lowered.
TEST(UnloweredConvolutions, KeepOtherPads) {
  const auto pads = [](std::string_view pad, std::string_view type = "f32[1,3,11,11]") {
    exir::ExportedProgram program =
        exir::ParseOrDie(exir::WithOperators(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w": f32[8,3,3,3] }
    graph(%w: f32[8,3,3,3] tensor_constant "w", %x: f32[1,3,9,9] user_input,
          %n: symint(s0) user_input) {
      %p: )",
                                                          type, " = Pad(", pad, R"()
      %y: f32[1,8,9,9] = Conv(%p, %w, none, [1], [0], [1], false, [0], 1)
      return (%y user_output) } })")),
                         CpuPassTestOps());
    EXPECT_TRUE(LowerConv2d().run(program).ok());
    const exir::Graph& graph = program.top();
    return graph.value(*graph.node(exir::FindNode(graph, "y")).value_argument("input")).name;
  };
  for (std::string_view gone : {"%x, [1,1,1,1], 0.0", "%x, [1,1,1,1]", "%x, [1,1,1,1], 0",
                                "%x, [1,1,1,1,0,0], 0.0", "%x, [1,1], 0.0"}) {
    EXPECT_EQ(pads(gone), "x") << gone;
  }
  for (std::string_view there :
       {"%x, [1,1,1,1], 1.0", "%x, [1,1,1,1,1,0], 0.0", "%x, [-1,1,1,1], 0.0",
        "%x, [1,1,%n,1], 0.0", "%x, [1048577,1,1,1], 0.0", "%x, [1], 0.0", "3, [1,1,1,1], 0.0"}) {
    EXPECT_EQ(pads(there), "p") << there;
  }
}

// Returns the number of remaining nodes of the matmul %y [6,8] of %x [3,2,4], reshaped to rows, and
// %w [4,8], followed by `body`.
int NodesLeft(std::string_view body, std::string_view rows = "%v: f32[6,4] = V(%x, [6,4])",
              std::string_view weight = "%w", const Numbers& numbers = {}) {
  exir::ExportedProgram program =
      exir::ParseOrDie(exir::WithOperators(absl::StrCat(
                           R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "w": f32[4,8] constant "i": i8[4,8] constant "s": f32[8]
                constant "s64": f64[8] constant "s0d": f32[] constant "half": f32[4]
                constant "row": f32[1,8] constant "cube": f32[1,6,8] }
    graph(%w: f32[4,8] tensor_constant "w", %i: i8[4,8] tensor_constant "i",
          %s: f32[8] tensor_constant "s", %s64: f64[8] tensor_constant "s64",
          %s0d: f32[] tensor_constant "s0d", %half: f32[4] tensor_constant "half",
          %row: f32[1,8] tensor_constant "row", %cube: f32[1,6,8] tensor_constant "cube",
          %x: f32[3,2,4] user_input, %u: f32[8] user_input, %six: f32[3,1,8] user_input,
          %n: symint(s0) user_input) {
      )",
                           rows, " %c: f32[4,8] = To(%i) %y: f32[6,8] = edge.aten.mm.default(%v, ",
                           weight, ") ", body, " } }")),
                       CpuPassTestOps());
  Fill(program, numbers);
  FusedHandles handles;
  EXPECT_TRUE(LowerLinear(handles).run(program).ok());
  return static_cast<int>(program.top().NodeList().size());
}

TEST(ReshapedMatmuls, AbsorbReshapesThatAreUndone) {
  EXPECT_EQ(NodesLeft("%r: f32[3,2,8] = V(%y, [3,2,8]) return (%r user_output)"), 1);
  for (std::string_view body : {
           // Other rows, columns or dimensions, another operator, and other users.
           "%r: f32[2,3,8] = V(%y, [2,3,8]) return (%r user_output)",
           "%r: f32[3,4,4] = V(%y, [3,4,4]) return (%r user_output)",
           "%r: f32[3,16] = V(%y, [3,16]) return (%r user_output)",
           "%r: f32[6,8] = edge.aten.abs.default(%y) return (%r user_output)",
           "%r: f32[3,2,8] = edge.aten.add.Tensor(%y, %six) return (%r user_output)",
           "%r: symint(s0) = V(%y, [3,2,8]) return (%r user_output)",
       }) {
    EXPECT_EQ(NodesLeft(body), 3) << body;
  }
  EXPECT_EQ(NodesLeft("%r: f32[3,2,8] = V(%y, [3,2,8]) return (%r user_output, %y user_output)"),
            3);
  EXPECT_EQ(NodesLeft("%r: f32[3,2,8] = V(%y, [3,2,8]) %q: f32[6,8] = edge.aten.abs.default(%y) "
                      "return (%r user_output, %q user_output)"),
            4);
  for (std::string_view rows : {
           "%v: f32[6,4] = edge.aten.abs.default(%x)",
           "%z: f32[4,6] = edge.aten.view_copy.default(%x, [4,6]) %v: f32[6,4] = V(%z, [6,4])",
           "%v: f32[6,4] = V(3, [6,4])",
           "%v: f32[6,4] = V(%n, [6,4])",
       }) {
    EXPECT_GE(NodesLeft("%r: f32[3,2,8] = V(%y, [3,2,8]) return (%r user_output)", rows), 3)
        << rows;
  }
}

// Reshapes of empty tensors may change the last size; k must not change.
TEST(ReshapedMatmuls, KeepReshapesOfEmptyTensors) {
  const auto left = [](std::string_view from, std::string_view to) {
    exir::ExportedProgram program = exir::ParseOrDie(
        exir::WithOperators(absl::StrCat("program edge { constants { constant \"w\": f32[4,8] } "
                                         "graph(%w: f32[4,8] tensor_constant \"w\", %x: f32",
                                         from, " user_input) { %v: f32[0,4] = V(%x, [0,4]) ",
                                         "%y: f32[0,8] = edge.aten.mm.default(%v, %w) %r: f32", to,
                                         " = V(%y, ", to, ") return (%r user_output) } }")),
        CpuPassTestOps());
    FusedHandles handles;
    EXPECT_TRUE(LowerLinear(handles).run(program).ok());
    return program.top().NodeList().size();
  };
  EXPECT_EQ(left("[0,2,4]", "[0,2,8]"), 1u);
  EXPECT_EQ(left("[0,2,3]", "[0,2,8]"), 3u);
  EXPECT_EQ(left("[0,2,4]", "[0,2,5]"), 3u);
}

TEST(ReshapedMatmuls, AbsorbColumnScales) {
  const auto left = [](std::string_view product, const Numbers& numbers = {}) {
    return NodesLeft(absl::StrCat(product, " return (%m user_output)"),
                     "%v: f32[6,4] = edge.aten.abs.default(%x)", "%c", numbers);
  };
  EXPECT_EQ(left("%m: f32[6,8] = edge.aten.mul.Tensor(%y, %s)"), 2);
  EXPECT_EQ(left("%m: f32[6,8] = edge.aten.mul.Tensor(%row, %y)"), 2);
  for (std::string_view product : {
           "%m: f32[6,8] = edge.aten.mul.Tensor(%y, %s64)",
           "%m: f32[6,8] = edge.aten.mul.Tensor(%y, %s0d)",
           "%m: f32[6,8] = edge.aten.mul.Tensor(%y, %half)",
           "%m: f32[6,8] = edge.aten.mul.Tensor(%y, %u)",
           "%m: f32[6,8] = edge.aten.mul.Tensor(%y, 2.0)",
           "%m: f32[6,8] = edge.aten.add.Tensor(%y, %s)",
           "%m: f32[1,6,8] = edge.aten.mul.Tensor(%y, %cube)",
           "%e: f32[s0,8] = edge.aten.expand_copy.default(%s, [%n,8]) "
           "%m: f32[6,8] = edge.aten.mul.Tensor(%y, %e)",
       }) {
    EXPECT_GE(left(product), 3) << product;
  }
  // Unusual scales.
  EXPECT_EQ(left("%m: f32[6,8] = edge.aten.mul.Tensor(%y, %s)", {.f32 = -1}), 3);
}

}  // namespace
}  // namespace belay::cpu
