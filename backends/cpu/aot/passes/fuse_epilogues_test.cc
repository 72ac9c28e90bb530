#include "backends/cpu/aot/passes/fuse_epilogues.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/graph_editor.h"
#include "exir/ir/text.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// `body` computes from %x and %o, and returns.
std::string Program(std::string_view body) {
  return absl::StrCat(R"(program edge {
    constants { constant "w": f32[256] constant "b": f32[8] constant "c": f32[]
                constant "one": f32[1] constant "rows": f32[2,1] }
    graph(%w: f32[256] tensor_constant "w", %b: f32[8] tensor_constant "b",
          %c: f32[] tensor_constant "c", %one: f32[1] tensor_constant "one",
          %rows: f32[2,1] tensor_constant "rows", %x: f32[2,8] user_input,
          %o: f32[2,8] user_input) {
      )",
                      body, " } }");
}
constexpr std::string_view kLinear =
    "%y: f32[2,8] = backend.belay_cpu.linear.default(%x, %w, none, none, 8, \"none\", \"add\", "
    "-inf, inf) ";

// Returns the remaining nodes of a linear followed by `body`.
std::string Fused(std::string_view body) {
  FusedHandles handles;
  exir::ExportedProgram program =
      exir::ParseOrDie(Program(absl::StrCat(kLinear, body)), CpuPassTestOps());
  const absl::StatusOr<bool> changed = FuseEpilogues(handles).run(program);
  if (!changed.ok()) return changed.status().ToString();
  std::string text;
  for (exir::NodeId id : program.top().nodes()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", exir::PrintNode(program.top(), id));
  }
  return text;
}
std::string Linear(std::string_view arguments) {
  return absl::StrCat("%y: f32[2,8] = backend.belay_cpu.linear.default(%x, %w, ", arguments, ")");
}

TEST(FuseEpilogues, FusesIntoAllPartsOfAConcatenation) {
  const std::string parts =
      "%z: f32[2,8] = backend.belay_cpu.linear.default(%o, %w, none, none, 8, \"none\", \"add\", "
      "-inf, inf) %k: f32[2,16] = edge.aten.cat.default([%y,%z], 1) ";
  const auto parts_with = [](std::string_view end) {
    return absl::StrCat(Linear(absl::StrCat("none, none, 8, ", end)),
                        "\n%z: f32[2,8] = backend.belay_cpu.linear.default(%o, %w, none, none, 8, ",
                        end, ")\n%k: f32[2,16] = edge.aten.cat.default([%y,%z], 1)");
  };
  EXPECT_EQ(Fused(absl::StrCat(parts,
                               "%r: f32[2,16] = edge.aten.relu.default(%k) "
                               "return (%r user_output)")),
            parts_with("\"none\", \"add\", 0.0, inf"));
  EXPECT_EQ(Fused(absl::StrCat(parts,
                               "%r: f32[2,16] = edge.aten.sigmoid.default(%k) "
                               "return (%r user_output)")),
            parts_with("\"sigmoid\", \"add\", -inf, inf"));
}

TEST(FuseEpilogues, KeepsActivationsOfConcatenationsThatNotAllPartsCanFuse) {
  const std::string body =
      "%k: f32[2,16] = edge.aten.cat.default([%y,%o], 1) "
      "%r: f32[2,16] = edge.aten.relu.default(%k) return (%r user_output)";
  EXPECT_THAT(Fused(body), testing::HasSubstr("aten.relu"));
}

TEST(FuseEpilogues, FusesActivations) {
  for (const auto& [op, name] : std::initializer_list<std::pair<std::string, std::string>>{
           {"sigmoid.default(%y)", "sigmoid"},
           {"tanh.default(%y)", "tanh"},
           {"gelu.default(%y)", "gelu"},
           {"gelu.default(%y, approximate=\"tanh\")", "gelu_tanh"}}) {
    EXPECT_EQ(Fused(absl::StrCat("%z: f32[2,8] = edge.aten.", op, " return (%z user_output)")),
              Linear(absl::StrCat("none, none, 8, \"", name, "\", \"add\", -inf, inf")));
  }
}

TEST(FuseEpilogues, FusesBounds) {
  for (const auto& [op, bounds] : std::initializer_list<std::pair<std::string, std::string>>{
           {"relu.default(%y)", "0.0, inf"},
           {"clamp.default(%y, -1, 2.5)", "-1.0, 2.5"},
           {"clamp.default(%y, max=2)", "-inf, 2.0"},
           // If the bounds cross, the upper one wins.
           {"clamp.default(%y, 3, 2)", "2.0, 2.0"},
           {"hardtanh.default(%y)", "-1.0, 1.0"}}) {
    EXPECT_EQ(Fused(absl::StrCat("%z: f32[2,8] = edge.aten.", op, " return (%z user_output)")),
              Linear(absl::StrCat("none, none, 8, \"none\", \"add\", ", bounds)));
  }
}

TEST(FuseEpilogues, ComposesBounds) {
  EXPECT_EQ(Fused("%z: f32[2,8] = edge.aten.clamp.default(%y, 0) "
                  "%v: f32[2,8] = edge.aten.clamp.default(%z, max=6) return (%v user_output)"),
            Linear("none, none, 8, \"none\", \"add\", 0.0, 6.0"));
  EXPECT_EQ(Fused("%z: f32[2,8] = edge.aten.clamp.default(%y, 0, 1) "
                  "%v: f32[2,8] = edge.aten.clamp.default(%z, 2, 3) return (%v user_output)"),
            Linear("none, none, 8, \"none\", \"add\", 2.0, 2.0"));
}

TEST(FuseEpilogues, FusesDecomposedActivations) {
  EXPECT_EQ(Fused("%s: f32[2,8] = edge.aten.sigmoid.default(%y) "
                  "%z: f32[2,8] = edge.aten.mul.Tensor(%s, %y) return (%z user_output)"),
            Linear("none, none, 8, \"silu\", \"add\", -inf, inf"));
  const std::string three =
      "%a: f32[2,8] = edge.aten.add.Scalar(%y, 3) "
      "%l: f32[2,8] = edge.aten.clamp.default(%a, 0) "
      "%h: f32[2,8] = edge.aten.clamp.default(%l, max=6) ";
  EXPECT_EQ(Fused(three + "%z: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%z user_output)"),
            Linear("none, none, 8, \"hardsigmoid\", \"add\", -inf, inf"));
  EXPECT_EQ(Fused(three + "%m: f32[2,8] = edge.aten.mul.Tensor(%y, %h) "
                          "%z: f32[2,8] = edge.aten.div.Scalar(%m, 6) return (%z user_output)"),
            Linear("none, none, 8, \"hardswish\", \"add\", -inf, inf"));
  EXPECT_EQ(Fused(three + "%d: f32[2,8] = edge.aten.mul.Scalar(%h, 0.16666666666666666) "
                          "%z: f32[2,8] = edge.aten.mul.Tensor(%d, %y) return (%z user_output)"),
            Linear("none, none, 8, \"hardswish\", \"add\", -inf, inf"));
}

TEST(FuseEpilogues, DoesNotFuseAlmostHardswish) {
  const std::string text = Fused(
      "%a: f32[2,8] = edge.aten.add.Scalar(%y, 3) "
      "%h: f32[2,8] = edge.aten.clamp.default(%a, 0, 5) "
      "%z: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%z user_output)");
  EXPECT_EQ(text.substr(0, text.find('\n')), Linear("none, none, 8, \"none\", \"add\", -inf, inf"));
}

TEST(FuseEpilogues, FusesBias) {
  EXPECT_EQ(Fused("%z: f32[2,8] = edge.aten.add.Tensor(%b, %y) return (%z user_output)"),
            Linear("%b, none, 8, \"none\", \"add\", -inf, inf"));
}

TEST(FuseEpilogues, FlattensChannelBias) {
  FusedHandles handles;
  exir::ExpectRewrite(R"(program edge {
    constants { constant "w": f32[256] constant "b": f32[8,1,1] }
    graph(%w: f32[256] tensor_constant "w", %b: f32[8,1,1] tensor_constant "b",
          %x: f32[1,8,4,8] user_input) {
      %y: f32[1,8,4,8] = backend.belay_cpu.conv2d.default(%x, %w, none, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      %z: f32[1,8,4,8] = edge.aten.add.Tensor(%y, %b)
      return (%z user_output) } })",
                      FuseEpilogues(handles).run, R"(program edge {
    constants { constant "b_bias0": f32[8] constant "w": f32[256] }
    graph(%w: f32[256] tensor_constant "w", %b_bias0: f32[8] tensor_constant "b_bias0",
          %x: f32[1,8,4,8] user_input) {
      %y: f32[1,8,4,8] = backend.belay_cpu.conv2d.default(%x, %w, %b_bias0, none, 8, [1,1], [1,1], [0,0], [1,1], "none", "add", -inf, inf)
      return (%y user_output) } })",
                      CpuPassTestOps());
}

TEST(FuseEpilogues, FusesResidualActivationAndBounds) {
  EXPECT_EQ(Fused("%z: f32[2,8] = edge.aten.add.Tensor(%o, %y) "
                  "%r: f32[2,8] = edge.aten.relu.default(%z) return (%r user_output)"),
            Linear("none, %o, 8, \"none\", \"add\", 0.0, inf"));
  EXPECT_EQ(Fused("%v: f32[2,8] = edge.aten.add.Tensor(%b, %y) "
                  "%z: f32[2,8] = edge.aten.add.Tensor(%v, %o) "
                  "%r: f32[2,8] = edge.aten.tanh.default(%z) "
                  "%s: f32[2,8] = edge.aten.relu.default(%r) return (%s user_output)"),
            Linear("%b, %o, 8, \"tanh\", \"add\", 0.0, inf"));
}

TEST(FuseEpilogues, FusesGateAfterActivation) {
  EXPECT_EQ(Fused("%s: f32[2,8] = edge.aten.sigmoid.default(%y) "
                  "%z: f32[2,8] = edge.aten.mul.Tensor(%s, %o) return (%z user_output)"),
            Linear("none, %o, 8, \"sigmoid\", \"mul\", -inf, inf"));
}

TEST(FuseEpilogues, StopsWhenSlotsAreUsed) {
  // A sum after an activation, an activation after a gate, a gate after bounds.
  for (std::string_view body :
       {"%s: f32[2,8] = edge.aten.sigmoid.default(%y) "
        "%z: f32[2,8] = edge.aten.add.Tensor(%s, %o) return (%z user_output)",
        "%s: f32[2,8] = edge.aten.mul.Tensor(%y, %o) "
        "%z: f32[2,8] = edge.aten.sigmoid.default(%s) return (%z user_output)",
        "%s: f32[2,8] = edge.aten.relu.default(%y) "
        "%z: f32[2,8] = edge.aten.mul.Tensor(%s, %o) return (%z user_output)"}) {
    const std::string text = Fused(body);
    EXPECT_THAT(text, ::testing::HasSubstr("%z: f32[2,8] = edge.aten.")) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

TEST(FuseEpilogues, DoesNotFuseSharedScaledOrBroadcastSums) {
  for (std::string_view body :
       {"%z: f32[2,8] = edge.aten.relu.default(%y) return (%z user_output, %y user_output)",
        "%z: f32[2,8] = edge.aten.relu.default(%y) "
        "%v: f32[2,8] = edge.aten.tanh.default(%y) return (%z user_output, %v user_output)",
        "%z: f32[2,8] = edge.aten.add.Tensor(%y, %o, alpha=2) return (%z user_output)",
        "%z: f32[2,8] = edge.aten.add.Tensor(%y, %c) return (%z user_output)",
        "%z: f32[2,8] = edge.aten.add.Tensor(%y, %y) return (%z user_output)",
        "%z: f32[2,8] = edge.aten.mul.Tensor(%y, %b) return (%z user_output)"}) {
    FusedHandles handles;
    exir::ExpectUnchanged(Program(absl::StrCat(kLinear, body)), FuseEpilogues(handles).run,
                          CpuPassTestOps());
  }
}

TEST(FuseEpilogues, LaterOperatorFusesTheSum) {
  EXPECT_EQ(
      Fused("%v: f32[2,8] = backend.belay_cpu.linear.default(%o, %w, none, none, 8, \"none\", "
            "\"add\", -inf, inf) "
            "%z: f32[2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)"),
      Linear("none, none, 8, \"none\", \"add\", -inf, inf") +
          "\n%v: f32[2,8] = backend.belay_cpu.linear.default(%o, %w, none, %y, 8, \"none\", "
          "\"add\", -inf, inf)");
}

TEST(FuseEpilogues, MovesAfterTheAddedTensor) {
  EXPECT_EQ(Fused("%v: f32[2,8] = edge.aten.abs.default(%o) "
                  "%z: f32[2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)"),
            "%v: f32[2,8] = edge.aten.abs.default(%o)\n" +
                Linear("none, %v, 8, \"none\", \"add\", -inf, inf"));
}

TEST(FuseEpilogues, KeepsHandlesOfFusedNodes) {
  FusedHandles handles;
  exir::ExportedProgram program = exir::ParseOrDie(
      Program(absl::StrCat(kLinear,
                           "%s: f32[2,8] = edge.aten.sigmoid.default(%y) "
                           "%m: f32[2,8] = edge.aten.mul.Tensor(%s, %y) "
                           "%a: f32[2,8] = edge.aten.abs.default(%m) return (%a user_output)")),
      CpuPassTestOps());
  {
    exir::GraphEditor editor(program.top());
    int64_t handle = 10;
    for (exir::NodeId id : program.top().NodeList()) editor.SetDebugHandle(id, handle++);
  }
  ASSERT_OK(FuseEpilogues(handles).run(program).status());
  EXPECT_THAT(handles.MapOf(program).value(),
              ElementsAre(Pair(exir::DelegateId(int64_t{10}), ElementsAre(10, 11, 12)),
                          Pair(exir::DelegateId(int64_t{13}), ElementsAre(13))));
}

// Returns the remaining nodes of a quantized linear followed by `body`.
std::string FusedBytes(std::string_view body) {
  FusedHandles handles;
  exir::ExportedProgram program = exir::ParseOrDie(absl::StrCat(R"(program edge {
    constants { constant "w": i8[128] constant "s": f32[8] constant "n": i32[8] }
    graph(%w: i8[128] tensor_constant "w", %s: f32[8] tensor_constant "s",
          %n: i32[8] tensor_constant "n", %x: u8[2,8] user_input, %o: f32[2,8] user_input) {
      %y: f32[2,8] = backend.belay_cpu.quantized_linear.default(%x, %w, %s, %n, none, 8, 3, "none", -inf, inf, none, [], none, [])
      )",
                                                                body, " } }"),
                                                   CpuPassTestOps());
  const absl::StatusOr<bool> changed = FuseEpilogues(handles).run(program);
  if (!changed.ok()) return changed.status().ToString();
  std::string text;
  for (exir::NodeId id : program.top().nodes()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", exir::PrintNode(program.top(), id));
  }
  return text;
}
std::string QuantizedLinear(std::string_view type, std::string_view arguments) {
  return absl::StrCat(
      "%y: ", type,
      "[2,8] = backend.belay_cpu.quantized_linear.default(%x, %w, %s, %n, none, 8, 3, ", arguments,
      ")");
}
constexpr std::string_view kQuantize = "edge.quantized_decomposed.quantize_per_tensor.default",
                           kDequantize = "edge.quantized_decomposed.dequantize_per_tensor.default";

TEST(FuseEpilogues, FusesOutputQuantization) {
  EXPECT_EQ(
      FusedBytes(absl::StrCat("%r: f32[2,8] = edge.aten.hardtanh.default(%y, 0.0, 6.0) "
                              "%q: u8[2,8] = ",
                              kQuantize, "(%r, 0.5, 3, 1, 255, dtype:u8) return (%q user_output)")),
      QuantizedLinear("u8", "\"none\", 0.0, 6.0, none, [], 0.5, [3,1,255]"));
}

TEST(FuseEpilogues, FusesInnerQuantization) {
  const std::string quantized = absl::StrCat(
      "%q: u8[2,8] = ", kQuantize, "(%y, 0.5, 3, 3, 200, dtype:u8) %d: f32[2,8] = ", kDequantize,
      "(%q, 0.5, 3, 0, 255, dtype:u8) ");
  EXPECT_EQ(FusedBytes(absl::StrCat(quantized, "return (%d user_output)")),
            QuantizedLinear("f32", "\"none\", -inf, inf, 0.5, [3,3,200], none, []"));
  EXPECT_EQ(FusedBytes(absl::StrCat(quantized, "%r: u8[2,8] = ", kQuantize,
                                    "(%d, 0.25, 7, 0, 255, dtype:u8) return (%r user_output)")),
            QuantizedLinear("u8", "\"none\", -inf, inf, 0.5, [3,3,200], 0.25, [7,0,255]"));
  // Nothing else is fused after that.
  EXPECT_EQ(FusedBytes(absl::StrCat(
                quantized, "%r: f32[2,8] = edge.aten.relu.default(%d) return (%r user_output)")),
            absl::StrCat(QuantizedLinear("f32", "\"none\", -inf, inf, 0.5, [3,3,200], none, []"),
                         "\n%r: f32[2,8] = edge.aten.relu.default(%y)"));
}

TEST(FuseEpilogues, QuantizedOperatorsFuseNoTensors) {
  EXPECT_EQ(FusedBytes("%r: f32[2,8] = edge.aten.add.Tensor(%y, %o) return (%r user_output)"),
            absl::StrCat(QuantizedLinear("f32", "\"none\", -inf, inf, none, [], none, []"),
                         "\n%r: f32[2,8] = edge.aten.add.Tensor(%y, %o)"));
}

TEST(FuseEpilogues, DoesNotFuseOtherBiasesAndAddends) {
  for (std::string_view body : {
           // Constants of one element, or per row.
           "%z: f32[2,8] = edge.aten.add.Tensor(%y, %one) return (%z user_output)",
           "%z: f32[2,8] = edge.aten.add.Tensor(%y, %rows) return (%z user_output)",
           "%v: f64[8] = edge.dim_order_ops._to_dim_order_copy.default(%b, dtype=dtype:f64) "
           "%z: f64[2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)",
           "%v: f32[1,1,8] = edge.aten.view_copy.default(%b, [1,1,8]) "
           "%z: f32[1,2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)",
           "%v: f32[3,2,8] = edge.aten.expand_copy.default(%o, [3,2,8]) "
           "%z: f32[3,2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)",
           "%v: f32[2,1] = edge.aten.slice_copy.Tensor(%o, 1, 0, 1) "
           "%z: f32[2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)",
           "%v: f64[2,8] = edge.dim_order_ops._to_dim_order_copy.default(%o, dtype=dtype:f64) "
           "%z: f64[2,8] = edge.aten.mul.Tensor(%y, %v) return (%z user_output)",
           "%z: f32[2,8] = edge.aten.add.Scalar(%y, 2) return (%z user_output)",
       }) {
    FusedHandles handles;
    exir::ExpectUnchanged(Program(absl::StrCat(kLinear, body)), FuseEpilogues(handles).run,
                          CpuPassTestOps());
  }
}

// A second bias has no free slot.
TEST(FuseEpilogues, FusesOneBias) {
  EXPECT_EQ(Fused("%v: f32[2,8] = edge.aten.add.Tensor(%y, %b) "
                  "%z: f32[2,8] = edge.aten.add.Tensor(%v, %b) return (%z user_output)"),
            Linear("%b, none, 8, \"none\", \"add\", -inf, inf") +
                "\n%z: f32[2,8] = edge.aten.add.Tensor(%y, %b)");
}

// A dequantization is fused only if its parameters equal those of the quantization.
TEST(FuseEpilogues, DoesNotFuseDifferentQuantizations) {
  const auto nodes = [](std::string_view quantize, std::string_view dequantize) {
    const std::string text = FusedBytes(absl::StrCat(
        "%q: u8[2,8] = ", kQuantize, "(%y, ", quantize, ", dtype:u8) %d: f32[2,8] = ", kDequantize,
        "(%q, ", dequantize, ", dtype:u8) return (%d user_output)"));
    return std::count(text.begin(), text.end(), '\n') + 1;
  };
  EXPECT_EQ(nodes("0.5, 3, 0, 255", "0.5, 3, 0, 255"), 1);
  EXPECT_EQ(nodes("0.5, 3, 0, 255", "0.25, 3, 0, 255"), 2);
  EXPECT_EQ(nodes("0.5, 3, 0, 255", "0.5, 4, 0, 255"), 2);
  EXPECT_EQ(nodes("0.5, 3, 0, 255", "1e-40, 3, 0, 255"), 2);
  EXPECT_EQ(nodes("0.5, 3, 4, 255", "0.5, 3, 0, 255"), 3);  // not callable
}

// A one-dimensional constant is the bias itself; otherwise a derived constant is.
TEST(FuseEpilogues, FusesBiasesThroughViews) {
  EXPECT_EQ(Fused("%v: f32[1,8] = edge.aten.view_copy.default(%b, [1,8]) "
                  "%z: f32[2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)"),
            Linear("%b_bias0, none, 8, \"none\", \"add\", -inf, inf"));
  EXPECT_EQ(Fused("%v: f32[8] = edge.aten.expand_copy.default(%c, [8]) "
                  "%z: f32[2,8] = edge.aten.add.Tensor(%y, %v) return (%z user_output)"),
            Linear("%c_bias0, none, 8, \"none\", \"add\", -inf, inf"));
  EXPECT_EQ(Fused("%o1: f32[1] = edge.aten.view_copy.default(%c, [1]) "
                  "%v: f32[8] = edge.aten.expand_copy.default(%o1, [8]) "
                  "%z: f32[2,8] = edge.aten.add.Tensor(%v, %y) return (%z user_output)"),
            Linear("%c_bias0, none, 8, \"none\", \"add\", -inf, inf"));
}

// Epilogues that round to bfloat16 after each operator.
class FuseBFloat16Epilogues : public testing::Test {
 protected:
  static std::string Call(std::string_view epilogue) {
    return absl::StrCat("%y: bf16[2,8] = backend.belay_cpu.bfloat16_linear.default(%x, %w, none, ",
                        epilogue, ")\n");
  }
  static std::string Program(std::string_view nodes) {
    return absl::StrCat(R"(program edge { constants { constant "w": bf16[128] state "c": bf16[8] }
        graph(%w: bf16[128] tensor_constant "w", %c: bf16[8] parameter "c", %x: bf16[2,4] user_input,
              %o: bf16[2,8] user_input, %f: f32[2,8] user_input) { )",
                        nodes, " } }");
  }
  static constexpr std::string_view kPlain = "none, 8, \"none\", \"add\", -inf, inf";
  static void ExpectFused(std::string_view nodes, std::string_view epilogue) {
    // Unused constants are erased.
    const std::string after =
        exir::Replaced(Program(Call(epilogue) + "return (%y user_output)"),
                       {{" state \"c\": bf16[8]", ""}, {" %c: bf16[8] parameter \"c\",", ""}});
    FusedHandles handles;
    exir::ExpectRewrite(Program(Call(kPlain) + std::string(nodes)), FuseEpilogues(handles).run,
                        after, CpuPassTestOps());
  }
  static void ExpectLeft(std::string_view nodes) {
    FusedHandles handles;
    exir::ExpectUnchanged(Program(Call(kPlain) + std::string(nodes)), FuseEpilogues(handles).run,
                          CpuPassTestOps());
  }
};

TEST_F(FuseBFloat16Epilogues, FusesEachStep) {
  ExpectFused("%z: bf16[2,8] = edge.aten.relu.default(%y) return (%z user_output)",
              "none, 8, \"none\", \"add\", 0.0, inf");
  ExpectFused("%z: bf16[2,8] = edge.aten.add.Tensor(%o, %y) return (%z user_output)",
              "%o, 8, \"none\", \"add\", -inf, inf");
  ExpectFused("%z: bf16[2,8] = edge.aten.mul.Tensor(%y, %o) return (%z user_output)",
              "%o, 8, \"none\", \"mul\", -inf, inf");
  ExpectFused("%z: bf16[2,8] = edge.aten.gelu.default(%y) return (%z user_output)",
              "none, 8, \"gelu\", \"add\", -inf, inf");
}

// The sum is rounded to bfloat16, then its activation is.
TEST_F(FuseBFloat16Epilogues, FusesActivationsComputedInFloat) {
  const std::string wide =
      "%v: f32[2,8] = edge.dim_order_ops._to_dim_order_copy.default(%y, dtype=dtype:f32, "
      "dim_order=[0,1]) ";
  const std::string silu = wide +
                           "%s: f32[2,8] = edge.aten.sigmoid.default(%v) "
                           "%m: f32[2,8] = edge.aten.mul.Tensor(%v, %s) ";
  const auto narrow = [](std::string_view value, std::string_view dtype) {
    return absl::StrCat("%z: ", dtype, "[2,8] = edge.dim_order_ops._to_dim_order_copy.default(",
                        value, ", dtype=dtype:", dtype, ", dim_order=[0,1]) ");
  };
  ExpectFused(silu + narrow("%m", "bf16") + "return (%z user_output)",
              "none, 8, \"silu\", \"add\", -inf, inf");
  ExpectFused(wide + "%t: f32[2,8] = edge.aten.tanh.default(%v) " + narrow("%t", "bf16") +
                  "return (%z user_output)",
              "none, 8, \"tanh\", \"add\", -inf, inf");
  // Float results, other types, and values with other users.
  ExpectLeft(silu + "return (%m user_output)");
  ExpectLeft(silu + narrow("%m", "f16") + "return (%z user_output)");
  ExpectLeft(silu + narrow("%m", "bf16") + "return (%z user_output, %m user_output)");
  ExpectLeft(silu + narrow("%m", "bf16") + "return (%z user_output, %y user_output)");
}

// PyTorch rounds the bounds to bfloat16.
TEST_F(FuseBFloat16Epilogues, RoundsBoundsToBFloat16) {
  ExpectFused("%z: bf16[2,8] = edge.aten.clamp.default(%y, 0.1, 3) return (%z user_output)",
              "none, 8, \"none\", \"add\", 0.10009765625, 3.0");
}

TEST_F(FuseBFloat16Epilogues, DoesNotFuseAcrossRounding) {
  ExpectLeft(
      "%s: bf16[2,8] = edge.aten.sigmoid.default(%y) "
      "%z: bf16[2,8] = edge.aten.mul.Tensor(%s, %y) return (%z user_output)");
  ExpectLeft("%z: bf16[2,8] = edge.aten.add.Tensor(%y, %c) return (%z user_output)");
  ExpectLeft("%z: f32[2,8] = edge.aten.add.Tensor(%y, %f) return (%z user_output)");
}

}  // namespace
}  // namespace belay::cpu
