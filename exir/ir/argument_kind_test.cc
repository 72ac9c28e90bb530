#include "exir/ir/argument_kind.h"

#include <string>

#include "exir/ir/text.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

// A value of each type, named by its kind.
constexpr std::string_view kValues =
    "%tensor: f32[2] user_input, %int: symint(s0) user_input, %float: symfloat(0.5) user_input, "
    "%bool: symbool(Eq(s0, 1)) user_input, %object: object(\"a.B\") custom_obj \"o\", "
    "%token: token token, %none: const(none) constant_input, %two: const(2) constant_input, "
    "%half: const(0.5) constant_input, %yes: const(true) constant_input, "
    "%text: const(\"t\") constant_input";

SchemaType TypeOf(std::string_view text) {
  return FunctionSchema::Parse(absl::StrCat("a::b(", text, " x) -> ()"))->arguments[0].type;
}

TEST(AcceptsArgumentTest, TypesAcceptTheirKindsAndConversions) {
  const struct {
    std::string_view type, takes, refuses;
  } kCases[] = {
      {"Tensor", "%tensor, 1, 2.5, true, (1+2j), %int, %float, %bool, %two",
       "none, \"t\", [%tensor], dtype:f32, device:cpu, layout:strided, format:preserve, graph#0, "
       "op:\"f\", {}, %object, %token, %none, %text"},
      {"Tensor?", "none, %tensor, 1", "\"t\", [none], %none"},
      {"int", "1, %int, %two", "none, 2.5, true, (1+2j), %float, %bool, %tensor, [1], %half, %yes"},
      {"float", "2.5, 1, %float, %int, %half", "none, true, (1+2j), %bool, %tensor, \"t\""},
      {"bool", "true, false, %bool, %yes", "none, 1, 2.5, %int, %tensor"},
      {"Scalar", "1, 2.5, true, (1+2j), %int, %float, %bool", "none, %tensor, \"t\", dtype:f32"},
      {"str", "\"t\", %text", "none, 1, op:\"f\""},
      {"ScalarType", "dtype:f32", "none, \"f32\", layout:strided"},
      {"Layout", "layout:strided", "none, dtype:f32, format:preserve"},
      {"MemoryFormat", "format:preserve", "none, layout:strided"},
      {"Device", "device:cpu", "none, \"cpu\""},
      {"Generator", "none, %object, %none", "1, \"t\", %tensor"},
      {"Stream", "none, 1, graph#0, {}, [none]", ""},
      {"int[]", "[], [1], [1,%int]", "none, 1, [2.5], [none], %tensor"},
      {"int[]?", "none, [1]", "1, [none]"},
      {"int[2]", "[1,2], 1, %int", "none, true, 2.5, [true]"},
      {"float[]", "[1,2.5,%float]", "2.5, [true]"},
      {"Tensor[]", "[%tensor], [1]", "%tensor, [none], [\"t\"]"},
      {"Tensor?[]", "[%tensor,none], []", "none, [\"t\"]"},
  };
  for (const auto& [type, takes, refuses] : kCases) {
    const ExportedProgram program =
        ParseOrDie(absl::StrCat("program aten { graph(", kValues, ") { zoo.op.default(", takes,
                                ") zoo.op.default(", refuses, ") return () } }"),
                   TestOps());
    const Graph& graph = program.top();
    for (const Argument& argument : graph.node(graph.first()).arguments) {
      EXPECT_TRUE(AcceptsArgument(TypeOf(type), graph, argument))
          << type << " " << PrintArgument(graph, argument);
    }
    for (const Argument& argument : graph.node(graph.last()).arguments) {
      EXPECT_FALSE(AcceptsArgument(TypeOf(type), graph, argument))
          << type << " " << PrintArgument(graph, argument);
    }
  }
}

TEST(MatchesOutputTest, ReturnsAreOfTheirKind) {
  const struct {
    std::string_view type, gives, others;
  } kCases[] = {
      {"Tensor", "%a: f32[], none", "%b: symint(u0), [%c: f32[]], %d: token"},
      {"Tensor?", "%a: f32[], none", "%b: symfloat(0.5)"},
      {"Tensor[]", "[%a: f32[], %b: i64[]], [], none", "%c: f32[], [%d: symint(u0)]"},
      {"int", "%a: symint(u0), %b: symfloat(0.5), %c: symbool(Eq(s0, 1))",
       "none, %d: f32[], [%e: symint(u0)]"},
      {"float", "%a: symfloat(0.5)", "none, %b: f32[]"},
      {"bool", "%a: symbool(Eq(s0, 1))", "none, %b: token"},
      {"Scalar", "%a: symint(u0)", "none, %b: object(\"o\")"},
      {"int?", "none, %a: symint(u0)", "%b: f32[]"},
      {"int[]", "[%a: symint(u0)]", "%b: symint(u0), [%c: f32[]]"},
      {"str", "%a: const(\"t\"), %b: f32[]", "none, [%c: f32[]]"},
      {"Stream", "none, %a: f32[], [%b: token]", ""},
  };
  for (const auto& [type, gives, others] : kCases) {
    for (const bool expected : {true, false}) {
      const std::string_view outputs = expected ? gives : others;
      if (outputs.empty()) continue;
      const ExportedProgram program =
          ParseOrDie(absl::StrCat("program aten { graph() { ", outputs,
                                  " = zoo.op.default() name=\"n\" return () } }"),
                     TestOps());
      const Graph& graph = program.top();
      for (const NodeOutput& output : graph.node(graph.first()).outputs) {
        EXPECT_EQ(MatchesOutput(TypeOf(type), graph, output), expected)
            << type << ": " << PrintNode(graph, graph.first());
      }
    }
  }
}

TEST(ArgumentKindNameTest, NamesTheKind) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"none", "none"},
      {"%tensor", "tensor"},
      {"1", "int"},
      {"%int", "int"},
      {"2.5", "float"},
      {"%float", "float"},
      {"true", "bool"},
      {"%bool", "bool"},
      {"(1+2j)", "complex number"},
      {"\"t\"", "string"},
      {"dtype:f32", "dtype"},
      {"format:preserve", "memory format"},
      {"layout:mkldnn", "layout"},
      {"device:cpu", "device"},
      {"[1]", "list"},
      {"graph#0", "graph"},
      {"op:\"f\"", "operator"},
      {"{}", "dictionary"},
      {"%object", "custom object"},
      {"%token", "token"},
      {"%none", "none"},
      {"%two", "int"},
      {"%half", "float"},
      {"%yes", "bool"},
      {"%text", "string"},
  };
  for (const auto& [argument, kind] : kCases) {
    const ExportedProgram program =
        ParseOrDie(absl::StrCat("program aten { graph(", kValues, ") { zoo.op.default(", argument,
                                ") return () } }"),
                   TestOps());
    const Graph& graph = program.top();
    EXPECT_EQ(ArgumentKindName(graph, graph.node(graph.first()).arguments[0]), kind) << argument;
  }
  EXPECT_EQ(ArgumentKindName(Graph(), ModuleId(0)), "module");
}

}  // namespace
}  // namespace belay::exir
