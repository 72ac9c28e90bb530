#include "exir/passes/promote_mixed_dtypes.h"

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "exir/passes/pass_testing.h"
#include "exir/testing/programs.h"
#include "exir/testing/rewrite_test.h"
#include "gtest/gtest.h"
#include "runtime/core/dtype.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

TEST(PromoteMixedDtypesTest, CastsTheNarrowerOperand) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %y: f32[2] = aten.add.Tensor(%x, %n)
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %_to_copy: f32[2] = aten._to_copy.default(%n, dtype=dtype:f32)
    %y: f32[2] = aten.add.Tensor(%x, %_to_copy)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, ConcatenatedTensorsHaveTheDtypeOfTheResult) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %y: f32[4] = aten.cat.default([%n,%x])
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%x: f32[2] user_input, %n: i64[2] user_input) {
    %_to_copy: f32[2] = aten._to_copy.default(%n, dtype=dtype:f32)
    %y: f32[4] = aten.cat.default([%_to_copy,%x])
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, IntegersDivideAsFloats) {
  ExpectRewrite(R"(program aten {
  graph(%a: i64[2] user_input, %b: i64[2] user_input) {
    %y: f32[2] = aten.div.Tensor(%a, %b)
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%a: i64[2] user_input, %b: i64[2] user_input) {
    %_to_copy: f32[2] = aten._to_copy.default(%a, dtype=dtype:f32)
    %_to_copy_1: f32[2] = aten._to_copy.default(%b, dtype=dtype:f32)
    %y: f32[2] = aten.div.Tensor(%_to_copy, %_to_copy_1)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, FloatsDivideInTheWiderDtype) {
  ExpectRewrite(R"(program aten {
  graph(%x: f64[2] user_input, %y: f32[2] user_input) {
    %z: f64[2] = aten.div.Tensor(%x, %y)
    return (%z user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%x: f64[2] user_input, %y: f32[2] user_input) {
    %_to_copy: f64[2] = aten._to_copy.default(%y, dtype=dtype:f64)
    %z: f64[2] = aten.div.Tensor(%x, %_to_copy)
    return (%z user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, TensorOfRankZeroDoesNotWiden) {
  ExpectRewrite(R"(program aten {
  graph(%x: f32[2] user_input, %s: f64[] user_input) {
    %y: f32[2] = aten.mul.Tensor(%x, %s)
    return (%y user_output)
  }
})",
                PromoteMixedDtypes().run, R"(program aten {
  graph(%x: f32[2] user_input, %s: f64[] user_input) {
    %_to_copy: f32[] = aten._to_copy.default(%s, dtype=dtype:f32)
    %y: f32[2] = aten.mul.Tensor(%x, %_to_copy)
    return (%y user_output)
  }
})",
                PassTestOps());
}

TEST(PromoteMixedDtypesTest, KeepsEqualDTypes) {
  ExpectUnchanged(R"(program aten {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = aten.add.Tensor(%x, %x)
    return (%y user_output)
  }
})",
                  PromoteMixedDtypes().run, PassTestOps());
}

// A rank-0 tensor takes part if it is of a higher category: numbers over bools, floating point over
// integers, complex over all.
TEST(PromoteMixedDtypesTest, TensorsOfRankZeroOfAHigherCategoryWiden) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"b8", "i64", "i64"},   {"b8", "f32", "f32"},   {"i64", "f32", "f32"}, {"i32", "f64", "f64"},
      {"f32", "c64", "c64"},  {"i64", "c64", "c64"},  {"i32", "i64", "i32"}, {"f32", "i64", "f32"},
      {"f64", "c64", "c128"}, {"f32", "c128", "c64"},  // the tensor's precision
  };
  for (const auto& [tensor, scalar, result] : cases) {
    for (const bool first : {false, true}) {
      SCOPED_TRACE(absl::StrCat(tensor, " ", scalar));
      const std::string text =
          absl::StrCat("program aten { graph(%x: ", tensor, "[2] user_input, %s: ", scalar,
                       "[] user_input) { %y: ", result, "[2] = aten.mul.Tensor(",
                       first ? "%s, %x" : "%x, %s", ") return (%y user_output) } }");
      ExportedProgram program = ParseOrDie(text, PassTestOps());
      ASSERT_THAT(PromoteMixedDtypes().run(program).status(), IsOk());
      const Graph& graph = program.top();
      const Node& product = graph.node(FindNode(graph, "y"));
      for (const Argument& operand : product.arguments) {
        EXPECT_EQ(DTypeShortName(graph.value(*operand.get_if<ValueId>()).tensor()->dtype), result);
      }
    }
  }
}

TEST(PromoteMixedDtypesTest, KeepsCallsWithoutTwoTensors) {
  for (const char* node :
       {"%y: f32[2] = aten.add.Tensor(%x, 2)", "%y: f32[2] = aten.add.Tensor(2, %x)",
        "%y: f32[2] = aten.add.Tensor(%x, %n)",
        // This pass does not promote its dtypes.
        "%y: f32[2] = aten.maximum.default(%x, %k)"}) {
    ExpectUnchanged(absl::StrCat("program aten { graph(%x: f32[2] user_input, %k: i64[2] "
                                 "user_input, %n: symint(s0) user_input) {\n",
                                 node, "\n return (%y user_output) } }"),
                    PromoteMixedDtypes().run, PassTestOps());
  }
}

// Scalars in place of tensors, dtypes without a common dtype, integers that remain integers.
TEST(PromoteMixedDtypesTest, KeepsOperandsWithoutCommonDtype) {
  ExpectUnchanged(R"(program aten {
  ranges { s0: [1, 8] }
  graph(%x: f32[2] user_input, %f: f8e4m3fn[2] user_input, %i: i64[2] user_input, %n: symint(s0) user_input) {
    %a: f32[2] = aten.mul.Tensor(%n, %x)
    %b: f32[2] = aten.mul.Tensor(%x, %n)
    %c: f32[2] = aten.add.Tensor(%x, %f)
    %d: i64[2] = aten.div.Tensor_mode(%i, %i, rounding_mode="floor")
    %e: f32[4] = aten.cat.default([%a, %n, %x])
    return (%a user_output, %b user_output, %c user_output, %d user_output, %e user_output)
  }
})",
                  PromoteMixedDtypes().run, PassTestOps());
}

TEST(PromoteMixedDtypesTest, CastsNeedTheirOperator) {
  constexpr OpDef kRows[] = {
      {.schema = "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"},
      {.schema = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"},
  };
  const absl::Span<const OpDef> tables[] = {kRows};
  ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
  for (const char* node :
       {"%r: f32[2] = aten.mul.Tensor(%x, %h)", "%r: f32[4] = aten.cat.default([%x, %h])"}) {
    ExpectPassError(
        absl::StrCat("program aten { graph(%x: f32[2] user_input, %h: f16[2] user_input) {\n", node,
                     "\nreturn (%r user_output) } }"),
        PromoteMixedDtypes().run, absl::StatusCode::kUnimplemented,
        "aten._to_copy.default is not registered", *ops);
  }
}

}  // namespace
}  // namespace belay::exir
