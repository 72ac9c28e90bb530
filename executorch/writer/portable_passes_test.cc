#include "executorch/writer/portable_passes.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/program_text.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::pte {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the program after all passes.
std::string Portable(std::string_view text) {
  static const exir::OpRegistry& ops = *exir::CreateStandardOps()->release();
  exir::ExportedProgram program = exir::ParseOrDie(text, ops);
  std::vector<exir::Pass> passes = PortablePasses();
  passes.insert(passes.begin(), RowMajorTensors());
  for (const exir::Pass& pass : passes) {
    const absl::StatusOr<bool> changed = pass.run(program);
    EXPECT_TRUE(changed.ok()) << pass.name << ": " << changed.status();
  }
  return exir::PrintProgram(program);
}

TEST(PortablePassesTest, RemovesAssertionsAndTheirOperands) {
  EXPECT_THAT(
      Portable(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%x: f32[s0] user_input) {
      %n: symint(s0) = edge.aten.sym_size.int(%x, 0)
      %e: symbool(Ne(s0, 3)) = _operator.ne(%n, 3)
      aten._assert_scalar.default(%e, "not 3")
      %r: f32[s0] = edge.aten.relu.default(%x)
      return (%r user_output)
    } })"),
      AllOf(Not(HasSubstr("_operator.ne")), Not(HasSubstr("_assert_scalar")), HasSubstr("relu")));
}

// Returns the program with this node after all passes.
std::string WithNode(std::string_view node) {
  return Portable(std::string(R"(program edge {
    graph(%x: f32[2,3] user_input, %y: f32[2,3] user_input, %i: i64[2,3] user_input) {
      )")
                      .append(node)
                      .append(R"(
      return (%r user_output)
    } })"));
}

TEST(PortablePassesTest, DecomposesNorms) {
  EXPECT_THAT(WithNode("%r: f32[2] = edge.aten.linalg_vector_norm.default(%x, 2, [1])"),
              AllOf(HasSubstr("mul.Tensor"), HasSubstr("sum.dim_IntList"), HasSubstr("sqrt")));
  EXPECT_THAT(WithNode("%r: f32[2,1] = edge.aten.linalg_vector_norm.default(%x, 1, [1], true)"),
              AllOf(HasSubstr("abs"), HasSubstr("sum.dim_IntList"), Not(HasSubstr("sqrt"))));
  EXPECT_THAT(WithNode("%r: f32[2] = edge.aten.linalg_vector_norm.default(%x, inf, [1])"),
              HasSubstr("amax"));
  EXPECT_THAT(WithNode("%r: f32[2] = edge.aten.linalg_vector_norm.default(%x, -inf, [1])"),
              HasSubstr("amin"));
  EXPECT_THAT(WithNode("%r: f32[2] = edge.aten.linalg_vector_norm.default(%x, 0, [1])"),
              HasSubstr("ne.Scalar"));
  EXPECT_THAT(WithNode("%r: f32[] = edge.aten.linalg_vector_norm.default(%x, 3)"),
              HasSubstr("pow.Tensor_Scalar"));
}

TEST(PortablePassesTest, DecomposesUnsupportedOperators) {
  EXPECT_THAT(WithNode("%r: i64[2,3] = edge.aten.__lshift__.Scalar(%i, 2)"),
              HasSubstr("bitwise_left_shift.Tensor_Scalar"));
  EXPECT_THAT(WithNode("%r: i64[2,3] = edge.aten.__rshift__.Tensor(%i, %i)"),
              HasSubstr("bitwise_right_shift.Tensor("));
  EXPECT_THAT(WithNode("%r: i64[2,3] = edge.aten.remainder.Scalar(%i, 3)"),
              AllOf(HasSubstr("div.Scalar_mode"), HasSubstr("\"floor\""), HasSubstr("sub.Tensor")));
  EXPECT_THAT(WithNode("%r: f32[2,3] = edge.aten.remainder.Tensor(%x, %y)"),
              HasSubstr("remainder.Tensor"));
  EXPECT_THAT(WithNode("%r: f32[2,3] = edge.aten.hypot.default(%x, %y)"), HasSubstr("sqrt"));
  EXPECT_THAT(WithNode("%r: f32[2,3] = edge.aten.copysign.Tensor(%x, %y)"),
              AllOf(HasSubstr("where.self"), HasSubstr("reciprocal")));
}

TEST(PortablePassesTest, DecomposesAddMm) {
  const auto addmm = [](std::string_view factors, std::string_view dtype) {
    std::string text = R"(program edge {
    graph(%x: f32[3] user_input, %y: f32[2,3] user_input, %z: f32[3,3] user_input) {
      %r: f32[2,3] = edge.aten.addmm.default(%x, %y, %z)";
    text.append(factors).append(")\n      return (%r user_output)\n    } }");
    return Portable(exir::Replaced(text, {{"f32", dtype}}));
  };
  EXPECT_THAT(addmm("", "f32"), AllOf(HasSubstr("mm.default(%y, %z)"), HasSubstr("add.Tensor")));
  EXPECT_THAT(addmm(", beta=2", "f32"), HasSubstr("addmm"));
  EXPECT_THAT(addmm(", alpha=0.5", "f32"), HasSubstr("addmm"));
  EXPECT_THAT(addmm("", "f16"), HasSubstr("addmm"));  // avoids a second rounding
}

TEST(PortablePassesTest, MakesTensorsRowMajor) {
  EXPECT_EQ(Portable(R"(program edge {
    constants { state "w": f32[1,2,3,4]{strides=[24,1,8,2]} }
    graph(%w: f32[1,2,3,4]{strides=[24,1,8,2]} parameter "w", %x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input, %one: f32[2,1,3,4]{strides=[12,1,4,1]} user_input) {
      %a: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.aten.add.Tensor(%x, %w)
      %c: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.dim_order_ops._clone_dim_order.default(%a, dim_order=[0,2,3,1])
      return (%c user_output, %x user_output, %one user_output)
    } })"),
            R"(program edge {
  constants {
    state "w": f32[1,2,3,4]{strides=[24,1,8,2]}
  }
  graph(%w: f32[1,2,3,4] parameter "w",
        %x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input,
        %one: f32[2,1,3,4] user_input) {
    %to_dim_order: f32[1,2,3,4] = edge.dim_order_ops._to_dim_order_copy.default(%x, dim_order=[0,1,2,3])
    %a: f32[1,2,3,4] = edge.aten.add.Tensor(%to_dim_order, %w)
    %c: f32[1,2,3,4] = edge.dim_order_ops._clone_dim_order.default(%a)
    return (%c user_output, %to_dim_order user_output, %one user_output)
  }
}
)");
}

// The call writes the caller's tensor in the caller's order.
TEST(PortablePassesTest, MutatedInputsKeepTheirOrder) {
  EXPECT_THAT(Portable(R"(program edge {
    graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
      %r: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.aten.relu.default(%x)
      return (%r user_input_mutation "x", %r user_output)
    } })"),
              AllOf(HasSubstr("%to_dim_order_1: f32[1,2,3,4]{strides=[24,1,8,2]} = "
                              "edge.dim_order_ops._to_dim_order_copy.default(%r, "
                              "dim_order=[0,2,3,1])"),
                    HasSubstr("return (%to_dim_order_1 user_input_mutation \"x\", %r ")));
}

// Non-tensor inputs, outputs that are not values, subgraphs, and nodes without results.
TEST(PortablePassesTest, KeepsNonTensors) {
  const std::string text = Portable(R"(program edge {
    ranges { s0: [2, 6] }
    graph(%p: b8[] user_input, %x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input, %n: symint(s0) user_input) {
      %e: symbool(Ne(s0, 3)) = _operator.ne(%n, 3)
      aten._assert_scalar.default(%e, "not 3")
      %y: f32[1,2,3,4]{strides=[24,1,8,2]} = higher_order.cond(%p, graph#1, graph#2, [%x])
      return (%y user_output, %n user_output, 7 user_output)
    }
    graph yes(%a: f32[1,2,3,4]{strides=[24,1,8,2]}) {
      %r: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.aten.relu.default(%a)
      return (%r)
    }
    graph no(%a: f32[1,2,3,4]{strides=[24,1,8,2]}) {
      %r: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.aten.neg.default(%a)
      return (%r)
    } })");
  EXPECT_THAT(text, AllOf(HasSubstr("%n: symint(s0) user_input"), HasSubstr("7 user_output"),
                          HasSubstr("higher_order.cond(%p, graph#1, graph#2, [%to_dim_order])"),
                          HasSubstr("yes(%a: f32[1,2,3,4])"), HasSubstr("no(%a: f32[1,2,3,4])")));
  EXPECT_EQ(text.find("strides="), text.rfind("strides="));  // the input's
}

TEST(PortablePassesTest, ReturnedInputsAreRowMajor) {
  EXPECT_THAT(Portable(R"(program edge {
    graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
      return (%x user_output)
    } })"),
              HasSubstr("return (%to_dim_order user_output)"));
}

TEST(PortablePassesTest, NonDenseInputsCountAsRowMajor) {
  EXPECT_THAT(Portable(R"(program edge {
    graph(%x: f32[2,3]{strides=[0,1]} user_input) {
      %r: f32[2,3] = edge.aten.relu.default(%x)
      return (%r user_output)
    } })"),
              AllOf(HasSubstr("graph(%x: f32[2,3] user_input)"), HasSubstr("relu.default(%x)")));
}

TEST(PortablePassesTest, EachMutatedInputKeepsItsOwnOrder) {
  const std::string text = Portable(R"(program edge {
    graph(%x: f32[1,2,3,4]{strides=[24,1,8,2]} user_input, %y: f32[1,2,3,4]{strides=[24,1,8,2]} user_input) {
      %r: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.aten.add.Tensor(%x, %y)
      return (%r user_input_mutation "x", %y user_input_mutation "y", %r user_output)
    } })");
  EXPECT_THAT(text, AllOf(HasSubstr("_to_dim_order_copy.default(%r, dim_order=[0,2,3,1])"),
                          HasSubstr("user_input_mutation \"x\", %y user_input_mutation \"y\", "
                                    "%r user_output)")));
}

// Operators of other libraries may have an argument of this name.
TEST(PortablePassesTest, OnlyDimOrderOpsLoseDimOrderArgument) {
  ASSERT_OK_AND_ASSIGN(const auto ops, exir::CreateStandardOps());
  ASSERT_OK(ops->Define({.schema = "mylib::f(Tensor x, int[]? dim_order=None) -> Tensor"}));
  exir::ExportedProgram program = exir::ParseOrDie(R"(program edge {
    graph(%x: f32[1,2,3,4] user_input) {
      %r: f32[1,2,3,4]{strides=[24,1,8,2]} = edge.mylib.f.default(%x, dim_order=[0,2,3,1])
      return (%r user_output)
    } })",
                                                   *ops);
  ASSERT_OK(RowMajorTensors().run(program));
  EXPECT_THAT(exir::PrintProgram(program),
              HasSubstr("%r: f32[1,2,3,4] = edge.mylib.f.default(%x, [0,2,3,1])"));
}

}  // namespace
}  // namespace belay::pte
