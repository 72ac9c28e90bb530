#include "exir/functionalize/inline_regions.h"

#include <chrono>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "exir/functionalize/autocast_rules.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/rewrite_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

const OpRegistry& Ops() {
  static const OpRegistry& ops = *CreateStandardOps().value().release();
  return ops;
}

TEST(InlineRegionsTest, InlinesGradientMode) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)
    %z: f32[2] = aten.neg.default(%y)
    return (%z user_output)
  }
  graph submod_1(%a: f32[2]) {
    %r: f32[2] = aten.relu.default(%a)
    return (%r)
  }
})",
                InlineRegions().run, R"(program training {
  graph(%x: f32[2] user_input) {
    %r: f32[2] = aten.relu.default(%x)
    %z: f32[2] = aten.neg.default(%r)
    return (%z user_output)
  }
})",
                Ops());
}

TEST(InlineRegionsTest, AutocastCastsOperands) {
  ExpectRewrite(R"(program training {
  graph(%x: f32[2,2] user_input, %d: f64[2] user_input) {
    %y: bf16[2,2] = higher_order.wrap_with_autocast("cpu", dtype:bf16, true, none, graph#1, %x)
    return (%y user_output)
  }
  graph submod_1(%a: f32[2,2]) {
    %r: f32[2,2] = aten.relu.default(%a)
    %m: bf16[2,2] = aten.mm.default(%r, %a)
    return (%m)
  }
})",
                InlineRegions().run, R"(program training {
  graph(%x: f32[2,2] user_input, %d: f64[2] user_input) {
    %r: f32[2,2] = aten.relu.default(%x)
    %_to_copy: bf16[2,2] = aten._to_copy.default(%r, dtype=dtype:bf16)
    %_to_copy_1: bf16[2,2] = aten._to_copy.default(%x, dtype=dtype:bf16)
    %m: bf16[2,2] = aten.mm.default(%_to_copy, %_to_copy_1)
    return (%m user_output)
  }
})",
                Ops());
}

TEST(InlineRegionsTest, AutocastAppliesToNestedRegionsAndSubgraphs) {
  ExpectRewrite(R"(program training {
  graph(%p: b8[] user_input, %x: f32[2,2] user_input) {
    %y: bf16[2,2] = higher_order.wrap_with_autocast("cpu", dtype:bf16, true, none, graph#1, %p, %x)
    return (%y user_output)
  }
  graph submod_1(%p: b8[], %a: f32[2,2]) {
    %n: f32[2,2] = higher_order.wrap_with_autocast("cpu", dtype:bf16, false, none, graph#2, %a)
    %g: bf16[2,2] = higher_order.wrap_with_set_grad_enabled(true, graph#3, %n)
    %c: bf16[2,2] = higher_order.cond(%p, graph#4, graph#5, [%g])
    return (%c)
  }
  graph off(%a: f32[2,2]) {
    %m: f32[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph grad(%a: f32[2,2]) {
    %m: bf16[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph yes(%a: bf16[2,2]) {
    %m: bf16[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph no(%a: bf16[2,2]) {
    %t: bf16[] = aten.prod.default(%a)
    return (%a)
  }
})",
                InlineRegions().run, R"(program training {
  graph(%p: b8[] user_input, %x: f32[2,2] user_input) {
    %m: f32[2,2] = aten.mm.default(%x, %x)
    %_to_copy: bf16[2,2] = aten._to_copy.default(%m, dtype=dtype:bf16)
    %_to_copy_1: bf16[2,2] = aten._to_copy.default(%m, dtype=dtype:bf16)
    %m_1: bf16[2,2] = aten.mm.default(%_to_copy, %_to_copy_1)
    %c: bf16[2,2] = higher_order.cond(%p, graph#1, graph#2, [%m_1])
    return (%c user_output)
  }
  graph yes(%a: bf16[2,2]) {
    %m: bf16[2,2] = aten.mm.default(%a, %a)
    return (%m)
  }
  graph no(%a: bf16[2,2]) {
    %_to_copy: f32[2,2] = aten._to_copy.default(%a, dtype=dtype:f32)
    %t: bf16[] = aten.prod.default(%_to_copy)
    return (%a)
  }
})",
                Ops());
}

TEST(InlineRegionsTest, KeepsProgramsWithoutRegions) {
  ExpectUnchanged(R"(program training {
  graph(%x: f32[2] user_input) {
    %r: f32[2] = aten.relu.default(%x)
    return (%r user_output)
  }
})",
                  InlineRegions().run, Ops());
}

TEST(InlineRegionsTest, RejectsWrongArguments) {
  constexpr char kBody[] = R"(
    return (%y user_output)
  }
  graph submod_1(%a: f32[2], %b: f32[2]) {
    return (%a)
  }
})";
  const std::string head = "program training {\n  graph(%x: f32[2] user_input) {\n";
  ExpectPassError(
      head + "%y: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)" + kBody,
      InlineRegions().run, absl::StatusCode::kInvalidArgument,
      "the region's body takes 2 operands, got 1", Ops());
  ExpectPassError(head + "%y: f32[2] = higher_order.wrap_with_autocast(graph#1, %x)" + kBody,
                  InlineRegions().run, absl::StatusCode::kInvalidArgument, "modes", Ops());
}

// Invalid modes, and mismatches between calls and subgraphs.
TEST(InlineRegionsTest, RejectsCallsThatMismatchSubgraph) {
  constexpr char kBody[] = "graph body(%a: f32[2]) { return (%a) }";
  const std::tuple<const char*, const char*, const char*> kCases[] = {
      {"%y: f32[2] = higher_order.wrap_with_autocast(3, dtype:bf16, true, none, graph#1, %x)",
       kBody, "expected (device, dtype, enabled, cache_enabled)"},
      {"%y: f32[2] = higher_order.wrap_with_autocast(\"cpu\", dtype:bf16, 1, none, graph#1, %x)",
       kBody, "expected (device, dtype, enabled, cache_enabled)"},
      {"%y: f32[2], %z: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)",
       kBody, "the region's body gives 1 results, its call 2"},
      {"%y: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)", R"(
  graph outer(%a: f32[2]) {
    %b: f32[2], %c: f32[2] = higher_order.wrap_with_set_grad_enabled(true, graph#2, %a)
    return (%b)
  }
  graph inner(%a: f32[2]) { return (%a) })",
       "the region's body does not give what its call has"},
  };
  for (const auto& [call, bodies, message] : kCases) {
    SCOPED_TRACE(call);
    ExpectPassError(std::string("program training {\n  graph(%x: f32[2] user_input) {\n") + call +
                        "\nreturn (%y user_output)\n}\n" + bodies + "\n}",
                    InlineRegions().run, absl::StatusCode::kInvalidArgument, message, Ops());
  }
}

// Returns the operand dtypes of `call` after autocast in a region with these modes.
std::string CastIn(const std::string& modes, const std::string& call) {
  absl::StatusOr<ExportedProgram> program = ParseProgram(
      absl::StrCat(
          "program training {\n ranges { s0: [1, 8] }\n graph(%f: f32[2,2] user_input, %h: "
          "f16[2,2] user_input, %b: bf16[2,2] user_input, %d: f64[2,2] user_input, %e: "
          "f8e4m3fn[2,2] user_input, %i: i64[2,2] user_input, %n: symint(s0) user_input) {\n"
          "%y: f32[2,2] = higher_order.wrap_with_autocast(",
          modes,
          ", none, graph#1, %f, %h, %b, %d, %e, %i, %n)\nreturn (%y user_output) }\n"
          "graph body(%f: f32[2,2], %h: f16[2,2], %b: bf16[2,2], %d: f64[2,2], %e: "
          "f8e4m3fn[2,2], %i: i64[2,2], %n: symint(s0)) {\n%r: f32[2,2] = ",
          call, "\nreturn (%r) } }"),
      Ops());
  EXPECT_OK(program.status());
  if (!program.ok()) return "";
  const absl::StatusOr<bool> changed = InlineRegions().run(*program);
  EXPECT_OK(changed.status());
  const Graph& graph = program->top();
  std::string types;
  for (const Argument& argument : graph.node(graph.last()).arguments) {
    ForEachValue(argument, [&](ValueId value) {
      const TensorMeta* tensor = graph.value(value).tensor();
      absl::StrAppend(&types, types.empty() ? "" : " ",
                      tensor == nullptr ? "number" : DTypeShortName(tensor->dtype));
    });
  }
  return types;
}

TEST(InlineRegionsTest, AutocastCastsHalfAndSinglePrecision) {
  const std::string on = "\"cpu\", dtype:bf16, true", all = "[%f, %h, %b, %d, %e, %i]";
  // Matmuls cast to the region's dtype; the default is bfloat16.
  EXPECT_EQ(CastIn(on, "aten.mm.default(%f, %h)"), "bf16 bf16");
  EXPECT_EQ(CastIn("\"cpu\", dtype:f16, true", "aten.mm.default(%f, %b)"), "f16 f16");
  EXPECT_EQ(CastIn("\"cpu\", none, true", "aten.mm.default(%f, %b)"), "bf16 bf16");
  EXPECT_EQ(CastIn(on, "aten.mm.default(%d, %i)"), "f64 i64");
  // Casts to float32, or to the widest dtype if one operand is float32. float64, float8 and
  // integers stay.
  EXPECT_EQ(CastIn(on, "aten.mse_loss.default(%b, %h)"), "f32 f32");
  EXPECT_EQ(CastIn(on, "aten.cat.default(" + all + ")"), "f32 f32 f32 f64 f8e4m3fn i64");
  EXPECT_EQ(CastIn(on, "aten.cat.default([%h, %b])"), "bf16 bf16");
  EXPECT_EQ(CastIn(on, "aten.cat.default([%h, %b], %n)"), "bf16 bf16 number");
  // No casts if autocast is disabled, on another device, or for other operators.
  EXPECT_EQ(CastIn("\"cpu\", dtype:bf16, false", "aten.mm.default(%f, %h)"), "f32 f16");
  EXPECT_EQ(CastIn("\"cuda\", dtype:bf16, true", "aten.mm.default(%f, %h)"), "f32 f16");
  EXPECT_EQ(CastIn(on, "aten.add.Tensor(%f, %h)"), "f32 f16");
}

// Operands may be in lists and dictionaries; subgraphs outside of regions may contain regions.
TEST(InlineRegionsTest, FindsOperandsAtAnyPosition) {
  ExpectRewrite(R"(program training {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %y: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)
    %c: f32[2] = higher_order.cond(%p, graph#2, graph#3, [%y])
    return (%c user_output)
  }
  graph submod_1(%a: f32[2]) {
    %r: f32[2] = custom.op.default([%a, {"k": %a, "l": 3}])
    return (%r)
  }
  graph yes(%a: f32[2]) {
    %z: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#4, %a)
    return (%z)
  }
  graph no(%a: f32[2]) { return (%a) }
  graph submod_4(%b: f32[2]) {
    %n: f32[2] = aten.neg.default(%b)
    return (%n)
  }
})",
                InlineRegions().run, R"(program training {
  graph(%p: b8[] user_input, %x: f32[2] user_input) {
    %r: f32[2] = custom.op.default([%x, {"k": %x, "l": 3}])
    %c: f32[2] = higher_order.cond(%p, graph#1, graph#2, [%r])
    return (%c user_output)
  }
  graph yes(%a: f32[2]) {
    %n: f32[2] = aten.neg.default(%a)
    return (%n)
  }
  graph no(%a: f32[2]) { return (%a) }
})",
                Ops());
}

// In a region, in a nested region, and in a subgraph inside a region.
TEST(InlineRegionsTest, CastsRequireRegisteredOperator) {
  constexpr OpDef kRows[] = {{.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor"}};
  const absl::Span<const OpDef> tables[] = {kRows};
  ASSERT_OK_AND_ASSIGN(const auto ops, OpRegistry::Create(tables));
  for (const char* body : {
           "graph a(%a: f32[2,2]) { %m: f32[2,2] = aten.mm.default(%a, %a) return (%m) }",
           // Only its name is known.
           "graph a(%a: f32[2,2]) { %c: f32[2,2] = aten._to_copy.default(%a)\n"
           "%m: f32[2,2] = aten.mm.default(%c, %a) return (%m) }",
           "graph a(%a: f32[2,2]) { %r: f32[2,2] = higher_order.wrap_with_set_grad_enabled(true, "
           "graph#2, %a) return (%r) }\n"
           "graph b(%a: f32[2,2]) { %m: f32[2,2] = aten.mm.default(%a, %a) return (%m) }",
           "graph a(%a: f32[2,2]) { %r: f32[2,2] = higher_order.cond(true, graph#2, graph#3, [%a]) "
           "return (%r) }\n"
           "graph b(%a: f32[2,2]) { %m: f32[2,2] = aten.mm.default(%a, %a) return (%m) }\n"
           "graph c(%a: f32[2,2]) { return (%a) }",
       }) {
    SCOPED_TRACE(body);
    ExpectPassError(
        std::string("program training {\n  graph(%x: f32[2,2] user_input) {\n"
                    "%y: f32[2,2] = higher_order.wrap_with_autocast(\"cpu\", dtype:bf16, "
                    "true, none, graph#1, %x)\nreturn (%y user_output) }\n") +
            body + "\n}",
        InlineRegions().run, absl::StatusCode::kInternal, "aten._to_copy.default is not registered",
        *ops);
  }
}

TEST(InlineRegionsTest, CopiesStayWithinTheBudget) {
  absl::StatusOr<ExportedProgram> program = ParseProgram(R"(program training {
  graph(%x: f32[2] user_input) {
    %y: f32[2] = higher_order.wrap_with_set_grad_enabled(false, graph#1, %x)
    return (%y user_output)
  }
  graph body(%a: f32[2]) { return (%a) }
})",
                                                         Ops());
  ASSERT_OK(program.status());
  Budget budget;
  budget.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Budget::Scope scope(&budget);
  EXPECT_THAT(InlineRegions().run(*program).status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::HasSubstr("at %y")));
}

TEST(AutocastRuleTest, FollowsPyTorchsTable) {
  EXPECT_EQ(AutocastRuleOf("aten.linear.default"), AutocastRule::kLower);
  EXPECT_EQ(AutocastRuleOf("aten.conv2d.padding"), AutocastRule::kLower);
  EXPECT_EQ(AutocastRuleOf("aten.mse_loss.default"), AutocastRule::kFloat32);
  EXPECT_EQ(AutocastRuleOf("aten.cat.default"), AutocastRule::kWidest);
  EXPECT_EQ(AutocastRuleOf("aten.add.Tensor"), AutocastRule::kNone);
}

}  // namespace
}  // namespace belay::exir
