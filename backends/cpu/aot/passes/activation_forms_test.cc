#include "backends/cpu/aot/passes/activation_forms.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/cpu/aot/passes/cpu_pass_testing.h"
#include "exir/ir/graph_editor.h"
#include "exir/testing/programs.h"
#include "gtest/gtest.h"

namespace belay::cpu {
namespace {

exir::ExportedProgram Program(std::string_view body) {
  return exir::ParseOrDie(absl::StrCat(R"(program edge {
    ranges { s0: [1,9] }
    constants { constant "c": f32[] constant "b": f32[8] }
    graph(%c: f32[] tensor_constant "c", %b: f32[8] tensor_constant "b", %x: f32[2,8] user_input,
          %o: f32[2,8] user_input, %i: i64[2,8] user_input, %f: symfloat(zf0) user_input,
          %t: f32[] user_input) {
      )",
                                       body, " } }"),
                          CpuPassTestOps());
}

// Returns the activation function of %x and its number of nodes; "" for none.
std::string ActivationOf(std::string_view body) {
  const exir::ExportedProgram program = Program(body);
  const ConstantViews views(program);
  const auto form = ActivationForms(program, views).Find(exir::FindValue(program.top(), "x"));
  return form.has_value() ? absl::StrCat(form->activation, " ", form->nodes.size()) : "";
}

// Returns the bounds of the node that computes %y.
std::string ClampOf(std::string_view node) {
  const exir::ExportedProgram program = Program(absl::StrCat(node, " return (%y user_output)"));
  const ConstantViews views(program);
  const auto form = ActivationForms(program, views).Clamp(exir::FindNode(program.top(), "y"));
  return form.has_value() ? absl::StrCat(form->low, " ", form->high) : "";
}

TEST(ActivationForms, MatchesClamps) {
  EXPECT_EQ(ClampOf("%y: f32[2,8] = edge.aten.relu.default(%x)"), "0 inf");
  EXPECT_EQ(ClampOf("%y: f32[2,8] = edge.aten.clamp.default(%x, -1, 2.5)"), "-1 2.5");
  EXPECT_EQ(ClampOf("%y: f32[2,8] = edge.aten.clamp.default(%x, 3, 2)"), "2 2");
  EXPECT_EQ(ClampOf("%y: f32[2,8] = edge.aten.clamp.default(%x)"), "-inf inf");
  EXPECT_EQ(ClampOf("%y: f32[2,8] = edge.aten.hardtanh.default(%x, 0.0, 6.0)"), "0 6");
  for (std::string_view node :
       {"%y: f32[2,8] = edge.aten.abs.default(%x)", "%y: f32[2,8] = edge.aten.sigmoid.default(%x)",
        "%y: f32[2,8] = edge.aten.clamp.default(%x, nan, 1.0)",
        "%y: f32[2,8] = edge.aten.clamp.default(%x, 0.0, nan)",
        "%y: f32[2,8] = edge.aten.clamp.default(%x, %f, 1.0)",
        "%y: f32[2,8] = edge.aten.clamp.default(%x, %c, 1.0)",
        "%y: f32[2,8] = edge.aten.clamp.default(%x, 0.0, %f)",
        "%y: f32[2,8] = edge.aten.hardtanh.default(%x, %f, 6.0)",
        "%y: f32[2,8] = edge.aten.clamp.default(%x, \"low\", 1.0)"}) {
    EXPECT_EQ(ClampOf(node), "") << node;
  }
}

TEST(ActivationForms, MatchesSingleNodes) {
  for (std::string_view name : {"sigmoid", "tanh", "gelu", "silu", "hardsigmoid", "hardswish"}) {
    EXPECT_EQ(ActivationOf(absl::StrCat("%y: f32[2,8] = edge.aten.", name,
                                        ".default(%x) return (%y user_output)")),
              absl::StrCat(name, " 1"));
  }
  EXPECT_EQ(ActivationOf("%y: f32[2,8] = edge.aten.gelu.default(%x, approximate=\"none\") "
                         "return (%y user_output)"),
            "gelu 1");
  EXPECT_EQ(ActivationOf("%y: f32[2,8] = edge.aten.gelu.default(%x, approximate=\"tanh\") "
                         "return (%y user_output)"),
            "gelu_tanh 1");
}

// One or two clamps, factors in either order, mul by 1/6 or div by 6.
TEST(ActivationForms, MatchesDecompositions) {
  const std::string six =
      "%a: f32[2,8] = edge.aten.add.Scalar(%x, 3) %h: f32[2,8] = edge.aten.clamp.default(%a, 0, "
      "6) ";
  EXPECT_EQ(
      ActivationOf(six + "%y: f32[2,8] = edge.aten.div.Tensor(%h, 6) return (%y user_output)"),
      "hardsigmoid 3");
  EXPECT_EQ(ActivationOf(six + "%y: f32[2,8] = edge.aten.mul.Scalar(%h, 0.16666667) "
                               "return (%y user_output)"),
            "hardsigmoid 3");
  EXPECT_EQ(
      ActivationOf(six + "%m: f32[2,8] = edge.aten.mul.Tensor(%h, %x) "
                         "%y: f32[2,8] = edge.aten.div.Scalar(%m, 6) return (%y user_output)"),
      "hardswish 4");
  EXPECT_EQ(
      ActivationOf(six + "%d: f32[2,8] = edge.aten.div.Scalar(%h, 6) "
                         "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %d) return (%y user_output)"),
      "hardswish 4");
  EXPECT_EQ(ActivationOf("%s: f32[2,8] = edge.aten.sigmoid.default(%x) "
                         "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %s) return (%y user_output)"),
            "silu 2");
  EXPECT_EQ(ActivationOf("%a: f32[2,8] = edge.aten.add.Scalar(%x, 3) "
                         "%l: f32[2,8] = edge.aten.relu.default(%a) "
                         "%h: f32[2,8] = edge.aten.hardtanh.default(%l, -9.0, 6.0) "
                         "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output)"),
            "hardsigmoid 4");
}

// The order of the users does not matter.
TEST(ActivationForms, MatchesGatesInAnyUserOrder) {
  exir::ExportedProgram program = Program(
      "%s: f32[2,8] = edge.aten.sigmoid.default(%o) "
      "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %s) return (%y user_output)");
  const exir::ValueId x = exir::FindValue(program.top(), "x");
  exir::GraphEditor(program.top()).SetArgument(exir::FindNode(program.top(), "s"), 0, x);
  ASSERT_EQ(program.top().value(x).users.back(), exir::FindNode(program.top(), "s"));
  const ConstantViews views(program);
  const auto form = ActivationForms(program, views).Find(x);
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->activation, "silu");
}

TEST(ActivationForms, RejectsOtherFunctions) {
  const std::string three = "%a: f32[2,8] = edge.aten.add.Scalar(%x, 3) ";
  const std::string six = three + "%h: f32[2,8] = edge.aten.clamp.default(%a, 0, 6) ";
  for (
      const std::string& body : std::vector<std::string>{
          // The value is returned, unused, or has more than two users.
          "%y: f32[2,8] = edge.aten.sigmoid.default(%x) return (%y user_output, %x user_output)",
          "return (%o user_output)",
          "%p: f32[2,8] = edge.aten.tanh.default(%x) %q: f32[2,8] = edge.aten.tanh.default(%x) "
          "%r: f32[2,8] = edge.aten.tanh.default(%x) "
          "return (%p user_output, %q user_output, %r user_output)",
          "%y: f32[2,8] = edge.aten.exp.default(%x) return (%y user_output)",
          "%y: f32[2,8] = edge.aten.relu.default(%x) return (%y user_output)",
          // Results of another dtype or other sizes.
          "%y: f64[2,8] = edge.aten.sigmoid.default(%x) return (%y user_output)",
          "%y: f32[3,2,8] = edge.aten.sigmoid.default(%x) return (%y user_output)",
          "%y: symfloat(zf0) = edge.aten.sigmoid.default(%x) return (%y user_output)",
          // Other scalars than 3, 0, 6 and 6.
          "%a: f32[2,8] = edge.aten.add.Scalar(%x, 2) %h: f32[2,8] = edge.aten.clamp.default(%a, "
          "0, 6) "
          "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output)",
          "%a: f32[2,8] = edge.aten.add.Scalar(%x, 3, 2) %h: f32[2,8] = "
          "edge.aten.clamp.default(%a, 0, 6) "
          "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output)",
          "%a: f32[2,8] = edge.aten.add.Tensor(%x, %b) %h: f32[2,8] = edge.aten.clamp.default(%a, "
          "0, 6) "
          "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output)",
          three + "%h: f32[2,8] = edge.aten.clamp.default(%a, 1, 6) "
                  "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output)",
          three + "%h: f32[2,8] = edge.aten.clamp.default(%a, 0, 7) "
                  "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output)",
          six + "%y: f32[2,8] = edge.aten.div.Scalar(%h, 5) return (%y user_output)",
          six + "%y: f32[2,8] = edge.aten.div.Tensor(%h, %o) return (%y user_output)",
          six + "%y: f32[2,8] = edge.aten.mul.Scalar(%h, 0.2) return (%y user_output)",
          six + "%y: f32[2,8] = edge.aten.mul.Tensor(%h, %o) return (%y user_output)",
          six + "%y: f32[2,8] = edge.aten.abs.default(%h) return (%y user_output)",
          // A scalar divided by the value.
          six + "%y: f32[2,8] = edge.aten.div.Tensor(6.0, %h) return (%y user_output)",
          // Intermediate results that are returned or have two users.
          three + "return (%a user_output)",
          six + "return (%h user_output)",
          six +
              "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output, %h user_output)",
          six +
              "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) return (%y user_output, %a user_output)",
          six +
              "%y: f32[2,8] = edge.aten.div.Scalar(%h, 6) %z: f32[2,8] = edge.aten.abs.default(%h) "
              "return (%y user_output, %z user_output)",
          // Gates.
          "%s: f32[2,8] = edge.aten.sigmoid.default(%x) %y: f32[2,8] = edge.aten.add.Tensor(%x, "
          "%s) "
          "return (%y user_output)",
          "%s: f32[2,8] = edge.aten.sigmoid.default(%x) %y: f32[2,8] = edge.aten.mul.Tensor(%x, "
          "%o) "
          "return (%y user_output, %s user_output)",
          "%s: f32[2,8] = edge.aten.sigmoid.default(%x) %y: f32[2,8] = edge.aten.mul.Tensor(%x, "
          "%s) "
          "return (%y user_output, %s user_output)",
          "%s: f32[2,8] = edge.aten.sigmoid.default(%x) %p: f32[2,8] = edge.aten.abs.default(%s) "
          "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %p) return (%y user_output)",
          "%s: f32[2,8] = edge.aten.exp.default(%x) %y: f32[2,8] = edge.aten.mul.Tensor(%x, %s) "
          "return (%y user_output)",
          "%s: f32[2,8] = edge.aten.tanh.default(%x) %y: f32[2,8] = edge.aten.mul.Tensor(%x, %s) "
          "return (%y user_output)",
          "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %x) return (%y user_output)",
          six + "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %h) return (%y user_output)",
          six + "%m: f32[2,8] = edge.aten.mul.Tensor(%x, %h) "
                "%y: f32[2,8] = edge.aten.div.Scalar(%m, 5) return (%y user_output)",
          six + "%m: f32[2,8] = edge.aten.mul.Tensor(%x, %h) %y: f32[2,8] = "
                "edge.aten.div.Scalar(%m, 6) "
                "return (%y user_output, %m user_output)",
          six +
              "%d: f32[2,8] = edge.aten.div.Scalar(%h, 6) %e: f32[2,8] = edge.aten.abs.default(%d) "
              "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %e) return (%y user_output)",
          six +
              "%d: f32[2,8] = edge.aten.div.Scalar(%h, 6) "
              "%y: f32[2,8] = edge.aten.mul.Tensor(%x, %o) return (%y user_output, %d user_output)",
      }) {
    EXPECT_EQ(ActivationOf(body), "") << body;
  }
}

}  // namespace
}  // namespace belay::cpu
