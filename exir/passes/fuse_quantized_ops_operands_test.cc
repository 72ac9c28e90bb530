// Tests of unusual calls: operands that are not literals, not tensors or not of the inferred type,
// calls in subgraphs, and registries without the quantized operators.
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/ir/text.h"
#include "exir/ir/verifier.h"
#include "exir/passes/fuse_quantized_ops.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

// Returns a program around nodes that end in %r: `x`, `y` are bytes, `f` is float32, the others
// have types that are unusual in such positions.
std::string Around(std::string_view nodes) {
  return absl::StrCat(R"(program edge {
  ranges { s0: [1, 200] }
  constants { state "w": i8[4,8] state "u": u8[4,8] state "k": i16[4,8] state "v": i8[2,4,8]
              state "s": f32[4] state "g": f32[4,2] state "one": f32[3] state "z": i64[4] }
  graph(%w: i8[4,8] buffer "w", %u: u8[4,8] buffer "u", %k: i16[4,8] buffer "k", %v: i8[2,4,8] buffer "v",
        %s: f32[4] buffer "s", %g: f32[4,2] buffer "g", %one: f32[3] buffer "one", %z: i64[4] buffer "z",
        %x: i8[2,3] user_input, %y: i8[2,3] user_input, %b: u8[2,3] user_input, %row: i8[3] user_input,
        %f: f32[2,3] user_input, %i: i64[3] user_input,
        %n: symint(s0) user_input, %a: f32[s0] user_input) {
)",
                      nodes, "\n return (%r user_output)\n } }");
}

// Expects no change. The program may be one that does not verify.
void ExpectStays(std::string_view nodes, const OpRegistry& ops = PassTestOps()) {
  SCOPED_TRACE(nodes);
  ExportedProgram program = ParseOrDie(Around(WithOperators(nodes)), ops);
  const std::string before = PrintProgram(program);
  ASSERT_OK_AND_ASSIGN(const bool changed, FuseQuantizedOps().run(program));
  EXPECT_FALSE(changed);
  EXPECT_EQ(PrintProgram(program), before);
}

TEST(FuseQuantizedOpsOperandsTest, KeepsNonConstantParameters) {
  for (const char* parameters :
       {"%a, 3, -128, 127, dtype:i8", "0.5, %n, -128, 127, dtype:i8", "0.5, 3, %n, 127, dtype:i8",
        "0.5, 3, -128, %n, dtype:i8", "0.5, 3, -128, 127, none"}) {
    // Parameters of the quantize node, and of the dequantize node.
    ExpectStays(
        absl::StrCat("%d: f32[2,3] = D(%x, 0.5, 3, -128, 127, dtype:i8) "
                     "%c: f32[6] = edge.aten.view_copy.default(%d, [6]) %r: i8[6] = Q(%c, ",
                     parameters, ")"));
    ExpectStays(absl::StrCat("%d: f32[2,3] = D(%x, ", parameters,
                             ") %c: f32[2,3] = edge.aten.add.Tensor(%d, %d) "
                             "%r: i8[2,3] = Q(%c, 0.5, 3, -128, 127, dtype:i8)"));
  }
}

TEST(FuseQuantizedOpsOperandsTest, KeepsLossyParameters) {
  for (const char* parameters : {"1e31, 3, -128, 127, dtype:i8", "nan, 3, -128, 127, dtype:i8",
                                 "0.5, 3, -128, 126, dtype:i8", "0.5, 32769, -128, 127, dtype:i8",
                                 "0.5, -32769, -128, 127, dtype:i8"}) {
    ExpectStays(absl::StrCat(
        "%d: f32[2,3] = D(%x, ", parameters,
        ") %c: f32[6] = edge.aten.view_copy.default(%d, [6]) %r: i8[6] = Q(%c, ", parameters, ")"));
  }
}

TEST(FuseQuantizedOpsOperandsTest, KeepsLiteralsInPlaceOfTensors) {
  constexpr char kTo[] = "0.5, 3, -128, 127, dtype:i8)";
  for (const std::string& nodes : {
           absl::StrCat("%r: i8[] = Q(2.0, ", kTo),
           absl::StrCat("%d: f32[] = D(2, ", kTo,
                        " %c: f32[1] = edge.aten.view_copy.default(%d, [1]) %r: i8[1] = Q(%c, ",
                        kTo),
           absl::StrCat("%c: f32[1] = edge.aten.view_copy.default(2.0, [1]) %r: i8[1] = Q(%c, ",
                        kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo,
                        " %c: f32[2,3] = edge.aten.add.Tensor(%d, 2.0) %r: i8[2,3] = Q(%c, ", kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo, " %e: f32[2,3] = D(2, ", kTo,
                        " %c: f32[2,3] = edge.aten.add.Tensor(%d, %e) %r: i8[2,3] = Q(%c, ", kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo, " %e: f32[2,3] = D(2, ", kTo,
                        " %c: f32[2,3] = edge.aten.add.Tensor(%e, %d) %r: i8[2,3] = Q(%c, ", kTo),
           std::string("%r: f32[3,8] = E(2.0, %i)"),
           std::string("%d: f32[4,8] = C(2, %s, none, 0, -128, 127, dtype:i8) "
                       "%r: f32[3,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = G(2, %g, none, -128, 127, dtype:i8, 4, dtype:f32) "
                       "%r: f32[3,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = C(%w, 0.5, none, 0, -128, 127, dtype:i8) "
                       "%r: f32[3,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = C(%w, %s, 2, 0, -128, 127, dtype:i8) "
                       "%r: f32[3,8] = E(%d, %i)"),
       }) {
    ExpectStays(nodes);
  }
}

TEST(FuseQuantizedOpsOperandsTest, KeepsTypesThatContradictTheParameters) {
  constexpr char kTo[] = "0.5, 3, -128, 127, dtype:i8)";
  for (const std::string& nodes : {
           // Dequantized to float64; another dtype; another result.
           std::string("%d: f64[2,3] = D(%x, 0.5, 3, -128, 127, dtype:i8, out_dtype=dtype:f64) "
                       "%c: f64[2,3] = edge.aten.add.Tensor(%d, %d) %r: i8[2,3] = Q(%c, ") +
               kTo,
           absl::StrCat("%d: f32[2,3] = D(%b, ", kTo,
                        " %c: f32[6] = edge.aten.view_copy.default(%d, [6]) %r: i8[6] = Q(%c, ",
                        kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo,
                        " %c: f32[6] = edge.aten.view_copy.default(%d, [6]) %r: u8[6] = Q(%c, ",
                        kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo,
                        " %e: f32[2,3] = D(%b, 0.5, 3, 0, 255, dtype:u8) ",
                        "%c: f32[2,3] = edge.aten.add.Tensor(%d, %e) %r: i8[2,3] = Q(%c, ", kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo, " %e: f32[3] = D(%row, ", kTo,
                        " %c: f32[2,3] = edge.aten.add.Tensor(%d, %e) %r: i8[2,3] = Q(%c, ", kTo),
           // A result with other strides, in the middle and at the end; calls that the operator
           // rejects.
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo,
                        " %p: f32[3,2]{strides=[1,3]} = edge.aten.permute_copy.default(%d, [1,0]) "
                        "%c: f32[6] = edge.aten.view_copy.default(%p, [6]) %r: i8[6] = Q(%c, ",
                        kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo,
                        " %p: f32[3,2] = edge.aten.permute_copy.default(%d, [1,0]) "
                        "%r: i8[3,2]{strides=[1,3]} = Q(%p, ",
                        kTo),
           absl::StrCat("%d: f32[2,3] = D(%x, ", kTo,
                        " %p: f32[3,2] = edge.aten.permute_copy.default(%d, [1,0]) "
                        "%c: f32[7] = edge.aten.view_copy.default(%p, [7]) %r: i8[7] = Q(%c, ",
                        kTo),
           // Embeddings: a weight of rank 3, of int16, to float16, with too few scales, with an
           // unknown axis, or with an unknown range.
           std::string("%d: f32[2,4,8] = C(%v, %s, none, 0, -128, 127, dtype:i8) "
                       "%r: f32[3,4,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = C(%k, %s, none, 0, -128, 127, dtype:i16) "
                       "%r: f32[3,8] = E(%d, %i)"),
           std::string(
               "%d: f16[4,8] = C(%w, %s, none, 0, -128, 127, dtype:i8, out_dtype=dtype:f16) "
               "%r: f16[3,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = C(%w, %one, none, 0, -128, 127, dtype:i8) "
                       "%r: f32[3,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = C(%w, %s, none, %n, -128, 127, dtype:i8) "
                       "%r: f32[3,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = C(%w, %s, none, 0, %n, 127, dtype:i8) "
                       "%r: f32[3,8] = E(%d, %i)"),
           std::string("%d: f32[4,8] = C(%w, %s, none, 0, -128, %n, dtype:i8) "
                       "%r: f32[3,8] = E(%d, %i)"),
       }) {
    ExpectStays(nodes);
  }
}

// Nodes and constants of a failed embedding fusion are erased: zero points as floats, packed
// weights.
TEST(FuseQuantizedOpsOperandsTest, FailedEmbeddingFusionHasNoEffect) {
  for (const char* nodes : {
           "%d: f32[4,8] = C(%w, %one, %z, 0, -8, 7, dtype:i8) %r: f32[3,8] = E(%d, %i)",
           "%d: f32[4,8] = C(%w, %s, %z, 0, -8, 7, dtype:i8) %r: f32[3,8]{strides=[1,3]} = E(%d, "
           "%i)",
           "%d: f32[4,8] = C(%w, %one, none, 0, -8, 7, dtype:i8) %r: f32[3,8] = E(%d, %i)",
           "%d: f32[4,8] = C(%w, %s, %z, 0, -128, 127, dtype:i8) "
           "%r: f32[3,8]{strides=[1,3]} = E(%d, %i)",
       }) {
    ExpectStays(nodes);
  }
}

// Only an addition without other users is fused; the same for data movement.
TEST(FuseQuantizedOpsOperandsTest, KeepsIntermediateValuesUsedTwice) {
  for (const char* last : {"%d: f32[2,3] = edge.aten.relu.default(%c)",
                           "%d: f32[6] = edge.aten.view_copy.default(%c, [6])"}) {
    const bool relu = std::string_view(last).find("relu") != std::string_view::npos;
    ExpectUnchanged(
        WithOperators(absl::StrCat(
            "program edge { graph(%x: i8[2,3] user_input) {\n"
            "%a: f32[2,3] = D(%x, 0.5, 3, -128, 127, dtype:i8) ",
            relu ? "%c: f32[2,3] = edge.aten.add.Tensor(%a, %a)"
                 : "%c: f32[3,2] = edge.aten.permute_copy.default(%a, [1,0])",
            "\n", last, "\n%q: i8", relu ? "[2,3]" : "[6]",
            " = Q(%d, 0.5, 3, -128, 127, dtype:i8) return (%q user_output, %c user_output) } }")),
        FuseQuantizedOps().run, PassTestOps());
  }
}

TEST(FuseQuantizedOpsOperandsTest, AlphaOfOneIsAnAddition) {
  for (const auto& [alpha, fused] : {std::pair("1", true), {"1.0", true}, {"0.5", false}}) {
    SCOPED_TRACE(alpha);
    ExportedProgram program =
        ParseOrDie(Around(WithOperators(
                       absl::StrCat("%d: f32[2,3] = D(%x, 0.5, 3, -128, 127, dtype:i8) "
                                    "%c: f32[2,3] = edge.aten.add.Tensor(%d, %d, alpha=",
                                    alpha, ") %r: i8[2,3] = Q(%c, 0.5, 3, -128, 127, dtype:i8)"))),
                   PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, FuseQuantizedOps().run(program));
    EXPECT_EQ(changed, fused);
  }
}

// Returns the operators of the program, in order.
std::string OpsOf(const Graph& graph) {
  std::string ops;
  for (const NodeId id : graph.nodes()) {
    absl::StrAppend(&ops, ops.empty() ? "" : " ", graph.node(id).target->op());
  }
  return ops;
}

TEST(FuseQuantizedOpsOperandsTest, SelectsTheEmbeddingByRange) {
  const struct {
    const char *weight, *rest, *ops;
  } kCases[] = {
      {"%w", "-2, -2, 1", "embedding_2bit"},  // the axis from the end
      {"%w", "0, -2, 7", "embedding_byte"},   // neither a range of two bits nor of four
      {"%w", "0, -8, 1", "embedding_byte"},   //
      {"%w", "0, -8, 7", "embedding_4bit"},   //
      {"%u", "0, -8, 7", "embedding_byte"},   // unsigned numbers are not packed
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.weight, " ", c.rest));
    ExportedProgram program = ParseOrDie(
        Around(WithOperators(absl::StrCat("%d: f32[4,8] = C(", c.weight, ", %s, none, ", c.rest,
                                          ", dtype:i8) %r: f32[3,8] = E(%d, %i)"))),
        PassTestOps());
    ASSERT_OK_AND_ASSIGN(const bool changed, FuseQuantizedOps().run(program));
    EXPECT_TRUE(changed);
    EXPECT_EQ(OpsOf(program.top()), c.ops);
  }
}

// A mutated buffer does not prevent packing of another tensor.
TEST(FuseQuantizedOpsOperandsTest, PacksConstantInProgramWithMutatedBuffer) {
  ExportedProgram program = ParseOrDie(WithOperators(R"(program edge {
  constants { state "w": i8[4,8] state "s": f32[4] state "m": f32[4] }
  graph(%w: i8[4,8] buffer "w", %s: f32[4] buffer "s", %m: f32[4] buffer "m", %i: i64[3] user_input) {
    %n: f32[4] = edge.aten.neg.default(%m)
    %d: f32[4,8] = C(%w, %s, none, 0, -8, 7, dtype:i8)
    %r: f32[3,8] = E(%d, %i)
    return (%n buffer_mutation "m", %r user_output)
  }
})"),
                                       PassTestOps());
  ASSERT_OK(FuseQuantizedOps().run(program).status());
  EXPECT_OK(Verify(program));
  EXPECT_EQ(OpsOf(program.top()), "neg embedding_4bit");
}

// Subgraphs are fused too, but not packed: constants are inputs of the top graph.
TEST(FuseQuantizedOpsOperandsTest, FusesSubgraphsWithoutPacking) {
  ExportedProgram program = ParseOrDie(WithOperators(R"(program edge {
  constants { state "w": i8[4,8] state "s": f32[4] }
  graph(%w: i8[4,8] buffer "w", %s: f32[4] buffer "s", %p: b8[] user_input, %i: i64[3] user_input) {
    %c: f32[3,8] = higher_order.cond(%p, graph#1, graph#2, [%w, %s, %i])
    return (%c user_output)
  }
  graph body(%w1: i8[4,8], %s1: f32[4], %i1: i64[3]) {
    %d: f32[4,8] = C(%w1, %s1, none, 0, -8, 7, dtype:i8)
    %r: f32[3,8] = E(%d, %i1)
    return (%r)
  }
  graph other(%w2: i8[4,8], %s2: f32[4], %i2: i64[3]) {
    %r2: f32[3,8] = edge.aten.full.default([3,8], 0.0)
    return (%r2)
  }
})"),
                                       PassTestOps());
  ASSERT_OK(FuseQuantizedOps().run(program).status());
  EXPECT_OK(Verify(program));
  EXPECT_EQ(OpsOf(program.graphs[GraphId(1)]), "embedding_byte");
}

TEST(FuseQuantizedOpsOperandsTest, AtenProgramsGetOperatorsOfTheirDialect) {
  ExpectRewrite(R"(program aten {
  constants { state "s": f32[5] state "w": i8[5,8] state "z": i64[5] }
  graph(%w: i8[5,8] buffer "w", %s: f32[5] buffer "s", %z: i64[5] buffer "z", %i: i64[3] user_input) {
    %d: f32[5,8] = quantized_decomposed.dequantize_per_channel.default(%w, %s, %z, 0, -128, 127, dtype:i8)
    %e: f32[3,8] = aten.embedding.default(%d, %i)
    return (%e user_output)
  }
})",
                FuseQuantizedOps().run, R"(program aten {
  constants { state "s": f32[5] state "w": i8[5,8] state "z": i64[5] }
  graph(%w: i8[5,8] buffer "w", %s: f32[5] buffer "s", %z: i64[5] buffer "z", %i: i64[3] user_input) {
    %_to_copy: f32[5] = aten._to_copy.default(%z, dtype=dtype:f32)
    %embedding_byte: f32[3,8] = quantized_decomposed.embedding_byte.default(%w, %s, %_to_copy, -128, 127, %i)
    return (%embedding_byte user_output)
  }
})",
                PassTestOps());
}

// Without the quantized operators, nothing is fused.
TEST(FuseQuantizedOpsOperandsTest, DoesNothingWithoutQuantizedOperators) {
  constexpr OpDef kRows[] = {
      {.schema = "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int "
                 "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor"},
      {.schema = "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int "
                 "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor"},
      {.schema =
           "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? "
           "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor"},
      {.schema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"},
      {.schema = "aten::embedding(Tensor weight, Tensor indices) -> Tensor"},
  };
  const absl::Span<const OpDef> tables[] = {kRows};
  ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
  ExpectStays(
      "%d: f32[2,3] = D(%x, 0.5, 3, -128, 127, dtype:i8) "
      "%c: f32[2,3] = edge.aten.add.Tensor(%d, %d) "
      "%r: i8[2,3] = Q(%c, 0.5, 3, -128, 127, dtype:i8)",
      *ops);
  ExpectStays(
      "%d: f32[4,8] = C(%w, %s, none, 0, -128, 127, dtype:i8) "
      "%r: f32[3,8] = E(%d, %i)",
      *ops);
}

}  // namespace
}  // namespace belay::exir
