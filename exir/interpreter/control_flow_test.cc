// Mismatched control flow, as in programs that were not verified.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exir/interpreter/interpreter.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ControlFlowTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(kernels_)); }

  // Returns the results %r etc. of `node`, followed by the subgraphs `bodies`. The graph has the
  // inputs %p and %q (truth values, one and two), %x (2×2), %y (3), %e (0×2).
  absl::StatusOr<std::vector<OwnedValue>> Run(std::string_view node, std::string_view bodies,
                                              InterpreterOptions options = {}) {
    const std::string text = absl::StrCat(
        "program aten { graph(%p: b8[] user_input, %q: b8[2] user_input, %x: f32[2,2] user_input, "
        "%y: f32[3] user_input, %e: f32[0,2] user_input) {\n",
        node, "\nreturn (%r user_output) }\n", bodies, "}");
    const ExportedProgram program = ParseOrDie(text, *ops_);
    ABSL_ASSIGN_OR_RETURN(Interpreter interpreter,
                          Interpreter::Create(program, kernels_, std::move(options)));
    const TestTensor p = TestTensor::Of<bool>({}, {true}),
                     q = TestTensor::Of<bool>({2}, {true, true});
    const TestTensor x = TestTensor::Of<float>({2, 2}, {1, 2, 3, 4});
    const TestTensor y = TestTensor::Of<float>({3}, {5, 6, 7}),
                     e = TestTensor::Of<float>({0, 2}, {});
    return interpreter.Run(
        {EValue(p.view()), EValue(q.view()), EValue(x.view()), EValue(y.view()), EValue(e.view())});
  }

  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
  KernelRegistry kernels_;
};

struct Case {
  std::string_view node, bodies, error;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};

TEST_F(ControlFlowTest, RejectsMismatchedBranches) {
  constexpr std::string_view kSame = "graph g(%a: f32[2,2]) { return (%a) }";
  for (const Case& c : {
           Case{"%r: f32[2,2] = higher_order.cond(3, graph#1, graph#1, [%x])", kSame,
                "expected one bool, got int"},
           Case{"%r: f32[2,2] = higher_order.cond(%x, graph#1, graph#1, [%x])", kSame,
                "expected one bool, got"},
           Case{"%r: f32[2,2] = higher_order.cond(%q, graph#1, graph#1, [%x])", kSame,
                "expected one bool, got"},
           Case{"%r: f32[2,2] = higher_order.cond([%p], graph#1, graph#1, [%x])", kSame,
                "has no run-time value", absl::StatusCode::kUnimplemented},
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, %x)", kSame,
                "operands must be a list"},
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, [[%x]])", kSame,
                "has no run-time value", absl::StatusCode::kUnimplemented},
           Case{"%r: f32[2,2] = higher_order.cond(%p, 3, graph#1, [%x])", kSame, "expected a body"},
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, [%x,%y])", kSame,
                "body 'g': expected 1 operands, got 2"},
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, [%q])", kSame,
                "operand 0 of body 'g': expected f32[2,2], got"},
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, [%x])",
                "graph g(%a: f32[3,2]) { return (%a) }",
                "operand 0 of body 'g': size 0: expected 3, got 2"},
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, [%x])",
                "graph g(%a: f32[2,2]) { return ([%a]) }", "has no run-time value",
                absl::StatusCode::kUnimplemented},
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, [%x])",
                "graph g(%a: f32[2,2]) { return (%a, %a) }", "expected 1 results, got 2",
                absl::StatusCode::kInternal},
           Case{"%r: f32[2,2], %s: f32[2,2] = aten.neg.default(%x)", "",
                "expected 2 results, got 1", absl::StatusCode::kInternal},
       }) {
    EXPECT_THAT(Run(c.node, c.bodies), StatusIs(c.code, HasSubstr(std::string(c.error)))) << c.node;
  }
}

TEST_F(ControlFlowTest, RejectsMismatchedLoops) {
  constexpr std::string_view kNode =
      "%r: f32[2,2] = higher_order.while_loop(graph#1, graph#2, [%x], [%p])";
  constexpr std::string_view kTest = "graph test(%a: f32[2,2], %b: b8[]) { return (%b) }\n";
  for (const Case& c : {
           Case{kNode,
                "graph test(%a: f32[2,2], %b: b8[]) { return (%b, %b) } graph body(%a: f32[2,2], "
                "%b: b8[]) { return (%a) }",
                "the loop's condition gives 2 values"},
           Case{kNode,
                "graph test(%a: f32[2,2], %b: b8[]) { return (%a) } graph body(%a: f32[2,2], %b: "
                "b8[]) { return (%a) }",
                "expected one bool"},
           Case{kNode,
                "graph test(%a: f32[2,2]) { return (%a) } graph body(%a: f32[2,2], %b: b8[]) { "
                "return (%a) }",
                "body 'test': expected 1 operands, got 2"},
           Case{kNode,
                "graph test(%a: f32[2,2], %b: b8[]) { return (%b) } graph body(%a: f32[2,2]) { "
                "return (%a) }",
                "body 'body': expected 1 operands, got 2"},
           Case{kNode,
                "graph test(%a: f32[2,2], %b: b8[]) { return (%b) } graph body(%a: f32[2,2], %b: "
                "b8[]) { return (%a, %b) }",
                "the loop carries 1 values, its body gives 2"},
           Case{"%r: f32[2,2] = higher_order.while_loop(graph#1, graph#1, %x, [%p])", kTest,
                "operands must be a list"},
           Case{"%r: f32[2,2] = higher_order.while_loop(graph#1, graph#1, [%x], %p)", kTest,
                "operands must be a list"},
       }) {
    EXPECT_THAT(Run(c.node, c.bodies), StatusIs(c.code, HasSubstr(std::string(c.error))))
        << c.node << c.bodies;
  }
}

TEST_F(ControlFlowTest, RejectsMismatchedRows) {
  constexpr std::string_view kSame = "graph g(%a: f32[2]) { return (%a) }";
  constexpr std::string_view kMap = "%r: f32[2,2] = higher_order.map_impl(graph#1, [%x], [])";
  constexpr std::string_view kScan =
      "%c: f32[3], %r: f32[2,2] = higher_order.scan(graph#1, [%y], [%x], [])";
  for (const Case& c : {
           Case{"%r: f32[2,2] = higher_order.map_impl(graph#1, [], [%x])", kSame,
                "there is no tensor with rows"},
           Case{"%r: f32[2,2] = higher_order.map_impl(graph#1, [3], [])", kSame,
                "expected a tensor with dimensions, got int"},
           Case{"%r: f32[2,2] = higher_order.map_impl(graph#1, [%p], [])", kSame,
                "expected a tensor with dimensions, got"},
           Case{"%r: f32[2,2] = higher_order.map_impl(graph#1, [%x,%y], [])", kSame,
                "one tensor has 2 rows, another 3"},
           Case{"%r: f32[2,2] = higher_order.map_impl(graph#1, %x, [])", kSame,
                "operands must be a list"},
           Case{"%r: f32[2,2] = higher_order.map_impl(graph#1, [%x], %y)", kSame,
                "operands must be a list"},
           Case{"%r: f32[2,2] = higher_order.map_impl(graph#1, [%x], [%y])", kSame,
                "body 'g': expected 1 operands, got 2"},
           Case{kMap, "graph g(%a: f32[2]) { return (%a, %a) }",
                "the body gives 2 values, the map has 1"},
           Case{kMap, "graph g(%a: f32[2]) { return (7) }", "expected a row of tensors, got int"},
           Case{kMap,
                "graph g(%a: f32[2]) { %v: f32[2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] = "
                "aten.view.default(%a, [2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) return (%v) }",
                "expected a row of tensors, got"},
           // Without rows, the declared type determines the row type.
           Case{"%r: symint(u0) = higher_order.map_impl(graph#1, [%e], [])", kSame,
                "cannot stack rows to a value that is not a tensor"},
           Case{"%r: f32[] = higher_order.map_impl(graph#1, [%e], [])", kSame,
                "cannot stack rows to a value that is not a tensor"},
           Case{"%r: f32[0,u7] = higher_order.map_impl(graph#1, [%e], [])", kSame,
                "no rows, and size 1 of f32[0,u7] is not known", absl::StatusCode::kUnimplemented},
           Case{"%r: f32[3] = higher_order.scan(graph#1, [%y,%y], [%x], [])", kSame,
                "the scan carries 2 values and has 1 results"},
           Case{kScan, "graph g(%c: f32[3], %a: f32[2]) { return (%c) }",
                "the body gives 1 values, the scan has 2"},
           Case{kScan, "graph g(%c: f32[3], %a: f32[2]) { return (%c, 7) }",
                "expected a row of tensors, got int"},
           Case{kScan, "graph g(%a: f32[2]) { return (%a) }",
                "body 'g': expected 1 operands, got 2"},
           Case{"%c: f32[3], %r: f32[2,2] = higher_order.scan(graph#1, [%y], [], [%x])", kSame,
                "there is no tensor with rows"},
           Case{"%c: f32[3], %r: f32[2,2] = higher_order.scan(graph#1, %y, [%x], [])", kSame,
                "operands must be a list"},
           Case{"%c: f32[3], %r: f32[2,2] = higher_order.scan(graph#1, [%y], %x, [])", kSame,
                "operands must be a list"},
           Case{"%c: f32[3], %r: f32[2,2] = higher_order.scan(graph#1, [%y], [%x], %x)", kSame,
                "operands must be a list"},
       }) {
    EXPECT_THAT(Run(c.node, c.bodies), StatusIs(c.code, HasSubstr(std::string(c.error))))
        << c.node << c.bodies;
  }
}

TEST_F(ControlFlowTest, RowsMustHaveEqualShapes) {
  // The number of elements per row depends on the data.
  EXPECT_THAT(Run("%z: f32[2,2] = aten.sub.Scalar(%x, 4)\n"
                  "%r: i64[2,u0,1] = higher_order.map_impl(graph#1, [%z], [])",
                  "graph g(%a: f32[2]) { %n: i64[u0,1] = aten.nonzero.default(%a) return (%n) }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row 1 is ")));
  // Branches with different results: the first row is a float tensor.
  for (const std::string_view other : {"return (7) }",
                                       "%i: i64[2] = aten.full_like.default(%a, 1, "
                                       "dtype=dtype:i64) return (%i) }"}) {
    EXPECT_THAT(Run("%r: f32[2,2] = higher_order.map_impl(graph#1, [%x], [])",
                    absl::StrCat("graph g(%a: f32[2]) { %z: b8[2] = aten.gt.Scalar(%a, 2)\n"
                                 "%k: b8[] = aten.any.default(%z)\n%c: const(none) = "
                                 "higher_order.cond(%k, graph#2, graph#3, [%a]) return (%c) }\n"
                                 "graph h(%a: f32[2]) { ",
                                 other, "\ngraph i(%a: f32[2]) { return (%a) }")),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row 1 is ")))
        << other;
  }
}

TEST_F(ControlFlowTest, IteratesRowsOfSeveralTensors) {
  ASSERT_OK_AND_ASSIGN(const auto results,
                       Run("%r: f32[2,2] = higher_order.map_impl(graph#1, [%x,%x], [])",
                           "graph g(%a: f32[2], %b: f32[2]) { %s: f32[2] = aten.add.Tensor(%a, %b) "
                           "return (%s) }"));
  EXPECT_THAT(ToVector<float>(*results[0].tensor()), ElementsAre(2, 4, 6, 8));
  // Without rows, the sizes known by then are used.
  ASSERT_OK_AND_ASSIGN(
      const auto none,
      Run("%z: f32[2,2] = aten.sub.Scalar(%x, 4)\n%n: i64[u0,2] = aten.nonzero.default(%z)\n"
          "%r: f32[0,u0] = higher_order.map_impl(graph#1, [%e], [])",
          "graph g(%a: f32[2]) { return (%a) }"));
  EXPECT_EQ(none[0].tensor()->sizes, Sizes({0, 3}));
}

TEST_F(ControlFlowTest, LimitsStackedResults) {
  constexpr std::string_view kSame = "graph g(%a: f32[2]) { return (%a) }";
  EXPECT_THAT(Run("%r: f32[2,2] = higher_order.map_impl(graph#1, [%x], [])", kSame,
                  {.max_tensor_bytes = 8}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 8 bytes")));
  EXPECT_THAT(
      Run("%r: f32[2,2] = higher_order.map_impl(graph#1, [%x], [])", kSame, {.max_iterations = 1}),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 1 iterations")));
  EXPECT_THAT(Run("%c: f32[3], %r: f32[2,2] = higher_order.scan(graph#1, [%y], [%x], [])",
                  "graph g(%c: f32[3], %a: f32[2]) { return (%c, %a) }", {.max_iterations = 1}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more than 1 iterations")));
  // The element count overflows although the rows need no memory.
  EXPECT_THAT(Run("%r: f32[2,4611686018427387904] = higher_order.map_impl(graph#1, [%x], [])",
                  "graph g(%a: f32[2]) { %s: f32[] = aten.select.int(%a, 0, 0)\n"
                  "%w: f32[4611686018427387904]{strides=[0]} = "
                  "aten.expand.default(%s, [4611686018427387904]) return (%w) }",
                  {.max_tensor_bytes = 1000}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("a tensor of sizes")));
}

TEST_F(ControlFlowTest, LimitsSubgraphNesting) {
  EXPECT_THAT(Run("%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1, [%x])",
                  "graph g(%a: f32[2,2]) { return (%a) }", {.max_nesting = 0}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("bodies are nested more than 0 deep")));
  // A recursive subgraph.
  EXPECT_THAT(Run("%r: f32[2,2] = higher_order.wrap_with_set_grad_enabled(true, graph#1, %x)",
                  "graph g(%a: f32[2,2]) { %b: f32[2,2] = "
                  "higher_order.wrap_with_set_grad_enabled(true, graph#1, %a) return (%b) }",
                  {.max_nesting = 10}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("bodies are nested more than 10 deep")));
}

TEST_F(ControlFlowTest, RegionsRequireSubgraph) {
  EXPECT_THAT(Run("%r: f32[2,2] = higher_order.wrap_with_set_grad_enabled(true, %x)", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a region without a body")));
  for (const std::string_view operands : {"[%x]", "%x, [%x]", "[%x], %x"}) {
    EXPECT_THAT(Run(absl::StrCat("%r: f32[2,2] = higher_order.wrap_with_set_grad_enabled(true, "
                                 "graph#1, ",
                                 operands, ")"),
                    "graph g(%a: f32[2,2]) { return (%a) }"),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("has no run-time value")))
        << operands;
  }
}

TEST_F(ControlFlowTest, WithEffectsCallsOperator) {
  ASSERT_OK_AND_ASSIGN(const auto results,
                       Run("%t: token, %r: f32[2,2] = higher_order.with_effects(none, "
                           "op:\"aten.add.Tensor\", %x, %x, "
                           "alpha=2)",
                           ""));
  EXPECT_THAT(ToVector<float>(*results[0].tensor()), ElementsAre(3, 6, 9, 12));
  for (const Case& c : {
           Case{"%t: token, %r: f32[2,2] = higher_order.with_effects(none, op:\"aten.add.Tensor\", "
                "%x, %x, beta=2)",
                "", "beta"},
           Case{"%t: token, %r: f32[2,2] = higher_order.with_effects(none, "
                "op:\"aten.index_select.default\", %x, 0, %x)",
                "", "index_select"},
           Case{"%t: token, %r: f32[2,2] = higher_order.with_effects(none, "
                "op:\"zoo.none.default\", %x)",
                "", "it calls an unknown operator", absl::StatusCode::kUnimplemented},
           Case{"%t: token, %r: f32[2,2] = higher_order.with_effects(none, %x, %x)", "",
                "it calls an unknown operator", absl::StatusCode::kUnimplemented},
           Case{"%t: token, %r: f32[2,2] = higher_order.with_effects(none)", "",
                "it calls an unknown operator", absl::StatusCode::kUnimplemented},
           Case{"%r: f32[2,2] = aten.neg.default(%x)\n"
                "higher_order.with_effects(none, op:\"aten.add.Tensor\", %x, %x)",
                "", "the token is missing"},
           // An operator without a schema, with a subgraph.
           Case{"%t: token, %r: f32[2,2] = higher_order.with_effects(none, "
                "op:\"higher_order.cond\", %x)",
                "", "it calls an unknown operator", absl::StatusCode::kUnimplemented},
       }) {
    EXPECT_THAT(Run(c.node, c.bodies), StatusIs(c.code, HasSubstr(std::string(c.error)))) << c.node;
  }
}

TEST_F(ControlFlowTest, OperatorsRejectSubgraphArguments) {
  for (const std::string_view node : {"%r: f32[2,2] = aten.neg.default(graph#1)",
                                      "%r: f32[4,2] = aten.cat.default([%x,graph#1])"}) {
    EXPECT_THAT(Run(node, "graph g(%a: f32[2]) { return (%a) }"),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr("an operator can't take the argument")))
        << node;
  }
}

TEST_F(ControlFlowTest, ReportsUnsupportedOperators) {
  constexpr std::string_view kSame = "graph g(%a: f32[2,2]) { return (%a) }";
  for (const Case& c : {
           Case{"%r: f32[2,2] = higher_order.cond(%p, graph#1, graph#1)", kSame,
                "it takes 4 arguments"},
           Case{"%r: f32[2,2] = higher_order.wrap_with_autocast(\"cpu\", dtype:bf16, false, "
                "graph#1)",
                kSame, "casts of an autocast region are not inserted"},
           Case{"%r: f32[2,2] = higher_order.wrap_with_autocast(\"cpu\", dtype:bf16, 1, true, "
                "graph#1, %x)",
                kSame, "casts of an autocast region are not inserted"},
       }) {
    EXPECT_THAT(Run(c.node, c.bodies),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(std::string(c.error))))
        << c.node;
  }
}

}  // namespace
}  // namespace belay::exir
