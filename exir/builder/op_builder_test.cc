#include "exir/builder/op_builder.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "exir/builder/decomposition_table.h"
#include "exir/builder/op_call.h"
#include "exir/ir/text.h"
#include "exir/ops/standard_ops.h"
#include "exir/testing/programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/budget.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A builder at the end of the top graph of a program.
class Building {
 public:
  Building(std::string_view text, const OpRegistry& ops)
      : program(ParseOrDie(text, ops)),
        editor(program.graphs[ExportedProgram::kTop]),
        b(program, editor) {
    b.MoveToEnd();
  }
  std::vector<std::string> Nodes() const {
    std::vector<std::string> nodes;
    for (NodeId id : b.graph().nodes()) nodes.push_back(PrintNode(b.graph(), id));
    return nodes;
  }
  std::string Text(const Argument& argument) const { return PrintArgument(b.graph(), argument); }

  ExportedProgram program;
  GraphEditor editor;
  OpBuilder b;
};

class OpBuilderTest : public ::testing::Test {
 protected:
  Argument X(const Building& t) { return FindValue(t.b.graph(), "x"); }
  SymExpr Expr(std::string_view text) { return *ParseSymExpr(text); }
  const std::unique_ptr<OpRegistry> ops_ = *CreateStandardOps();
};

constexpr std::string_view kSizes = R"(program aten {
    ranges { s0: [2, 8] s1: [2, 8] s2: [2, 8] s3: [2, 8] }
    graph(%x: f32[s0,4] user_input, %y: f32[2*s1 + 3] user_input, %k: symint(3*s2) user_input,
          %z: f32[s3 - 1] user_input) {
      %i: i64[u0,1] = aten.nonzero.default(%z)
      return (%i user_output)
    } })";

TEST_F(OpBuilderTest, ComputesSizesFromSymbolDefinitions) {
  struct Case {
    std::string_view expr;
    std::string value;
    std::vector<std::string> nodes;  // the other nodes
  };
  const std::string s0 = "%sym_size: symint(s0) = aten.sym_size.int(%x, 0)";
  for (const Case& c : {
           Case{"7", "7", {}},
           Case{"s0", "%sym_size", {s0}},
           Case{"2*s0", "%mul", {s0, "%mul: symint(2*s0) = _operator.mul(2, %sym_size)"}},
           Case{"s0 + 1", "%add", {s0, "%add: symint(s0 + 1) = _operator.add(%sym_size, 1)"}},
           Case{"FloorDiv(s0, 2)",
                "%floordiv",
                {s0, "%floordiv: symint(FloorDiv(s0, 2)) = _operator.floordiv(%sym_size, 2)"}},
           Case{"PythonMod(s0, 3)",
                "%mod",
                {s0, "%mod: symint(PythonMod(s0, 3)) = _operator.mod(%sym_size, 3)"}},
           Case{"Max(s0, 3)",
                "%sym_max",
                {s0, "%sym_max: symint(Max(3, s0)) = torch.sym_max(3, %sym_size)"}},
           Case{"Min(s0, 3)",
                "%sym_min",
                {s0, "%sym_min: symint(Min(3, s0)) = torch.sym_min(3, %sym_size)"}},
           Case{"s0**2", "%mul", {s0, "%mul: symint(s0**2) = _operator.mul(%sym_size, %sym_size)"}},
           Case{"s0**3",
                "%mul_1",
                {s0, "%mul: symint(s0**2) = _operator.mul(%sym_size, %sym_size)",
                 "%mul_1: symint(s0**3) = _operator.mul(%mul, %sym_size)"}},
           // interpolate(scale_factor=0.5), arange(0.5, n)
           Case{"TruncToInt(0.5*ToFloat(s0))",
                "%trunc",
                {s0, "%sym_float: symfloat(ToFloat(s0)) = torch.sym_float(%sym_size)",
                 "%mul: symfloat(0.5*ToFloat(s0)) = _operator.mul(0.5, %sym_float)",
                 "%trunc: symint(TruncToInt(0.5*ToFloat(s0))) = math.trunc(%mul)"}},
           Case{"CeilToInt(ToFloat(s0) - 0.5)",
                "%ceil",
                {s0, "%sym_float: symfloat(ToFloat(s0)) = torch.sym_float(%sym_size)",
                 "%add: symfloat(ToFloat(s0) - 0.5) = _operator.add(%sym_float, -0.5)",
                 "%ceil: symint(CeilToInt(ToFloat(s0) - 0.5)) = math.ceil(%add)"}},
           Case{
               "TruncToInt(sqrt(ToFloat(s0)))",
               "%trunc",
               {s0, "%sym_float: symfloat(ToFloat(s0)) = torch.sym_float(%sym_size)",
                "%sym_sqrt: symfloat(OpaqueUnaryFn_sqrt(ToFloat(s0))) = torch.sym_sqrt(%sym_float)",
                "%trunc: symint(TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(s0)))) = "
                "math.trunc(%sym_sqrt)"}},
           Case{"TruncToInt(FloatPow(ToFloat(s0), 1.5))",
                "%trunc",
                {s0, "%sym_float: symfloat(ToFloat(s0)) = torch.sym_float(%sym_size)",
                 "%pow: symfloat(FloatPow(ToFloat(s0), 1.5)) = _operator.pow(%sym_float, 1.5)",
                 "%trunc: symint(TruncToInt(FloatPow(ToFloat(s0), 1.5))) = math.trunc(%pow)"}},
           Case{"Pow(2, s0)",
                "%pow",
                {s0, "%pow: symint(Pow(2, s0)) = _operator.pow(2, %sym_size)"}},
           Case{"BitwiseFn_bitwise_and(s0, 7)",
                "%and_",
                {s0, "%and_: symint(BitwiseFn_bitwise_and(s0, 7)) = _operator.and_(%sym_size, 7)"}},
           Case{"LShift(s0, 2)",
                "%lshift",
                {s0, "%lshift: symint(LShift(s0, 2)) = _operator.lshift(%sym_size, 2)"}},
           // torch.sym_ite(s0 > 4, s0, 4)
           Case{"Piecewise(ExprCondPair(s0, Gt(s0, 4)), ExprCondPair(4, true))",
                "%sym_ite",
                {s0, "%gt: symbool(Gt(s0, 4)) = _operator.gt(%sym_size, 4)",
                 "%sym_ite: symint(Where(Gt(s0, 4), s0, 4)) = torch.sym_ite(%gt, %sym_size, 4)"}},
           // An input's size is solved for the symbol.
           Case{"s1",
                "%floordiv",
                {"%sym_size: symint(2*s1 + 3) = aten.sym_size.int(%y, 0)",
                 "%sub: symint(2*s1) = _operator.sub(%sym_size, 3)",
                 "%floordiv: symint(s1) = _operator.floordiv(%sub, 2)"}},
           Case{"s2", "%floordiv", {"%floordiv: symint(s2) = _operator.floordiv(%k, 3)"}},
           Case{"s3",
                "%sub",
                {"%sym_size: symint(s3 - 1) = aten.sym_size.int(%z, 0)",
                 "%sub: symint(s3) = _operator.sub(%sym_size, -1)"}},
       }) {
    Building t(kSizes, *ops_);
    const Argument value = t.b.Size(Expr(c.expr));
    ASSERT_OK(t.b.status()) << c.expr;
    EXPECT_EQ(t.Text(value), c.value) << c.expr;
    std::vector<std::string> nodes = t.Nodes();
    ASSERT_FALSE(nodes.empty());
    EXPECT_THAT(nodes.back(),
                HasSubstr("aten.nonzero.default(%z)"));  // inserted before possible users
    nodes.pop_back();
    EXPECT_EQ(absl::StrJoin(nodes, "\n"), absl::StrJoin(c.nodes, "\n")) << c.expr;
    // Once per graph.
    EXPECT_EQ(t.Text(t.b.Size(Expr(c.expr))), c.value);
    EXPECT_EQ(t.Nodes().size(), nodes.size() + 1);
  }
}

TEST_F(OpBuilderTest, ComputesSizesAfterTheirDefinition) {
  Building t(kSizes, *ops_);
  EXPECT_EQ(t.Text(t.b.Size(Expr("u0*s0"))), "%mul");
  ASSERT_OK(t.b.status());
  EXPECT_THAT(t.Nodes(), ElementsAre(HasSubstr("aten.sym_size.int(%x, 0)"),
                                     HasSubstr("aten.nonzero.default(%z)"),
                                     HasSubstr("symint(u0) = aten.sym_size.int(%i, 0)"),
                                     HasSubstr("symint(s0*u0) = _operator.mul(")));
  // Recomputes values that were replaced.
  const ValueId product = FindValue(t.b.graph(), "mul");
  t.editor.EraseNode(t.b.graph().value(product).producer);
  EXPECT_EQ(t.Text(t.b.Size(Expr("u0*s0"))), "%mul");
  EXPECT_EQ(t.Nodes().size(), 4u);
}

TEST_F(OpBuilderTest, NamesTheUncomputableSize) {
  constexpr std::string_view kNoSymbol =
      "no input and no operator of the graph 'main' defines the symbol";
  SymExpr deep = Expr("s0");
  for (int i = 0; i < 40; ++i) deep = FloorDiv(deep + 1, Expr("s0"));
  struct Case {
    SymExpr expr;
    std::string_view error;
  };
  for (const Case& c : {
           Case{Expr("s9"), kNoSymbol},
           Case{Expr("CeilDiv(s0, 3)"), "CeilDiv(s0, 3) can't be computed: no operator is known"},
           Case{Expr("Mystery()"), "no operator is known"},
           Case{Expr("s0 + CeilDiv(s0, 3)"), "CeilDiv(s0, 3) can't be computed"},
           Case{Expr("CeilDiv(s0, 3)**2"), "CeilDiv(s0, 3) can't be computed"},
           Case{Expr("FloorDiv(s9, s0)"), "s9 can't be computed"},
           Case{Expr("FloorDiv(s0, s9)"), "s9 can't be computed"},
           Case{Expr("s0**(-1)"), "s0**(-1) can't be computed"},
           Case{Expr("Pow(2, s0 - 4)"), "Pow(2, s0 - 4) can't be computed"},
           Case{Expr("0.5*s0"), "can't be computed"},
           Case{Expr("Where(And(s0, s0 > 2), s0, 2)"), "And(s0, Gt(s0, 2)) can't be computed"},
           Case{deep, "is nested too deeply to be computed"},
       }) {
    Building t(
        R"(program aten { graph main(%x: f32[s0,4] user_input) { return (%x user_output) } })",
        *ops_);
    EXPECT_TRUE(t.b.Size(c.expr).is_none()) << c.expr.ToString();
    EXPECT_THAT(t.b.status(),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(std::string(c.error))))
        << c.expr.ToString();
  }
}

TEST_F(OpBuilderTest, SolvesOnlyLinearExpressions) {
  for (const std::string_view size :
       {"s1**2", "s1**2 - s1", "FloorDiv(6, s1)", "FloorDiv(6, s1 - 1)", "FloorDiv(s1, 2)",
        "FloorDiv(-9223372036854775807, 1 - 2*s1)", "s1*s2", "4"}) {
    Building t(absl::StrCat("program aten { graph(%x: f32[", std::string(size),
                            "] user_input) { return (%x user_output) } }"),
               *ops_);
    EXPECT_TRUE(t.b.Size(Expr("s1")).is_none());
    EXPECT_THAT(t.b.status(), StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("the size s1")))
        << size;
  }
}

constexpr std::string_view kPlain =
    "program aten { graph main(%x: f32[2,3] user_input, %n: symint(s0) user_input) { return (%x "
    "user_output) } }";

TEST_F(OpBuilderTest, InvalidCallsFailAndEmitNothing) {
  ASSERT_OK(ops_->Define({.schema = "mylib::bare(Tensor x) -> Tensor"}).status());
  ASSERT_OK_AND_ASSIGN(const OpOverload* op,
                       ops_->Define({.schema = "mylib::loop(Tensor x) -> Tensor"}));
  ASSERT_OK(ops_->SetCompositeKernel(op->name(), CompositeKind::kExplicit,
                                     [](OpBuilder& b, const OpCall& call) {
                                       return b.CallAll("mylib.loop.default", {call["x"]});
                                     }));
  const SymExpr unknown = Expr("CeilDiv(s0, 3)");
  const auto fails =
      [&](std::string_view name, const std::function<std::vector<OpArgument>(Argument)>& arguments,
          const OpKeywords& keywords, absl::StatusCode code, std::string_view error) {
        Building t(kPlain, *ops_);
        EXPECT_FALSE(t.b.Accepts(name, arguments(X(t)), keywords)) << name;
        EXPECT_OK(t.b.status()) << name;
        EXPECT_TRUE(t.b.Call(name, arguments(X(t)), keywords).is_none()) << name;
        EXPECT_THAT(t.b.status(), StatusIs(code, HasSubstr(std::string(error)))) << name;
        EXPECT_TRUE(t.Nodes().empty());
      };
  const auto x = [](const Argument& a) { return std::vector<OpArgument>{a}; };
  const auto none = [](const Argument&) { return std::vector<OpArgument>(); };
  fails("aten.zoo.default", x, {}, absl::StatusCode::kNotFound, "aten.zoo");
  fails("aten.neg.default", none, {}, absl::StatusCode::kInvalidArgument, "aten.neg.default");
  fails("aten.neg.default", x, {{"wrong", 1}}, absl::StatusCode::kInvalidArgument, "wrong");
  fails("higher_order.cond", none, {}, absl::StatusCode::kInternal, "has no schema");
  fails(
      "aten.sum.dim_IntList", [](const Argument& a) { return std::vector<OpArgument>{a, {9}}; }, {},
      absl::StatusCode::kOutOfRange, "9");
  fails(
      "aten.select.int", [&](const Argument& a) { return std::vector<OpArgument>{a, 0, unknown}; },
      {}, absl::StatusCode::kUnimplemented, "CeilDiv(s0, 3)");
  fails(
      "aten.view.default",
      [&](const Argument& a) { return std::vector<OpArgument>{a, std::vector<SymExpr>{unknown}}; },
      {}, absl::StatusCode::kUnimplemented, "CeilDiv(s0, 3)");
  fails(
      "aten.add.Tensor", [](const Argument& a) { return std::vector<OpArgument>{a, a}; },
      {{"alpha", unknown}}, absl::StatusCode::kUnimplemented, "CeilDiv(s0, 3)");
  for (const auto& [name, error] : std::initializer_list<std::pair<const char*, const char*>>{
           {"mylib.bare.default",
            "mylib.bare.default has neither a meta kernel nor a decomposition"},
           {"mylib.loop.default", "mylib.loop.default leads back to itself"}}) {
    Building t(kPlain, *ops_);
    EXPECT_TRUE(t.b.Call(name, {X(t)}).is_none());
    EXPECT_THAT(std::string(t.b.status().message()), HasSubstr(error));
  }
}

TEST_F(OpBuilderTest, FirstErrorIsKeptAndNothingIsEmittedAfterIt) {
  Building t(kPlain, *ops_);
  const Argument x = X(t);
  EXPECT_EQ(t.b.rank(x), 2);
  t.b.Invalid("first");
  t.b.Unsupported("second");
  EXPECT_TRUE(t.b.Call("aten.neg.default", {x}).is_none());
  EXPECT_TRUE(t.b.CallAll(*ops_->Lookup("aten.neg.default"), {x}).empty());
  EXPECT_FALSE(t.b.Accepts("aten.neg.default", {x}));
  EXPECT_TRUE(t.b.Resolve(x).is_none());
  EXPECT_EQ(t.b.rank(x), 0);
  EXPECT_EQ(t.b.size(x, 0), SymInt(0));
  EXPECT_FALSE(
      t.b.AddBody("body", {},
                  [](OpBuilder&, const std::vector<Argument>&) { return std::vector<Argument>(); })
          .valid());
  EXPECT_EQ(t.b.CallHigherOrder("higher_order.scan", {}, {TensorMeta(), TensorMeta()}).size(), 2u);
  EXPECT_TRUE(t.Nodes().empty());
  EXPECT_THAT(t.b.status(), StatusIs(absl::StatusCode::kInvalidArgument, "first"));
}

TEST_F(OpBuilderTest, ConstantScalarsNeedNoNode) {
  Building t(kPlain, *ops_);
  const Argument n = FindValue(t.b.graph(), "n");
  EXPECT_EQ(t.Text(t.b.Call("_operator.add", {2, 3})), "5");
  EXPECT_EQ(t.Text(t.b.Call("_operator.truediv", {1, 2})), "0.5");
  EXPECT_EQ(t.Text(t.b.Call("_operator.lt", {1, 2})), "true");
  EXPECT_EQ(t.Text(t.b.Call("_operator.sub", {n, n})), "0");
  EXPECT_EQ(t.Text(t.b.Call("aten.sym_size.int", {X(t), 1})), "3");
  EXPECT_TRUE(t.Nodes().empty());
  EXPECT_EQ(t.Text(t.b.Call("_operator.add", {n, 3})), "%add");
  EXPECT_THAT(t.Nodes(), ElementsAre(HasSubstr("%add: symint(s0 + 3) = _operator.add(%n, 3)")));
  EXPECT_OK(t.b.status());
}

TEST_F(OpBuilderTest, EmitsAcceptedCalls) {
  Building t(kPlain, *ops_);
  EXPECT_TRUE(t.b.Accepts("aten.neg.default", {X(t)}));
  EXPECT_TRUE(t.Nodes().empty());
  EXPECT_EQ(t.b.CallAll(*ops_->Lookup("aten.neg.default"), {X(t)}).size(), 1u);
  ASSERT_OK(t.b.status());
  EXPECT_EQ(t.Nodes().size(), 1u);
  const std::vector<Argument> beyond = {X(t), int64_t{9}, int64_t{0}};
  EXPECT_TRUE(t.b.CallAll(*ops_->Lookup("aten.select.int"), beyond).empty());
  EXPECT_FALSE(t.b.ok());
  // An input that is the size is used directly.
  Building u(kPlain, *ops_);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(u.Text(u.b.Size(Expr("s0"))), "%n");
  EXPECT_EQ(u.Text(u.b.Size(Expr("FloorDiv(s0, 2)"))), "%floordiv");
}

TEST_F(OpBuilderTest, DecomposesByTheTableAsLastResort) {
  ASSERT_OK(ops_->Define({.schema = "mylib::bare(Tensor x) -> Tensor"}).status());
  ASSERT_OK(ops_->Define({.schema = "mylib::other(Tensor x) -> Tensor"}).status());
  static constexpr Decomposition kRows[] = {
      {"mylib.bare.default", [](OpBuilder& b, const OpCall& call) {
         return std::vector<Argument>{b.Call("aten.neg.default", {call["x"]})};
       }}};
  const absl::Span<const Decomposition> families[] = {kRows};
  const DecompositionTable table(families);
  EXPECT_THAT(table.Ops(), ElementsAre("mylib.bare.default"));
  ExportedProgram program = ParseOrDie(kPlain, *ops_);
  GraphEditor editor(program.graphs[ExportedProgram::kTop]);
  OpBuilder b(program, editor, &table);
  b.MoveToEnd();
  const Argument result = b.Call("mylib.bare.default", {FindValue(b.graph(), "x")});
  ASSERT_OK(b.status());
  EXPECT_EQ(PrintArgument(b.graph(), result), "%neg");
  EXPECT_TRUE(b.Call("mylib.other.default", {FindValue(b.graph(), "x")}).is_none());
  EXPECT_THAT(b.status(), StatusIs(absl::StatusCode::kUnimplemented,
                                   HasSubstr("has neither a meta kernel nor a decomposition")));
}

TEST_F(OpBuilderTest, ResultsMatchTheSchema) {
  Building t(kPlain, *ops_);
  EXPECT_EQ(t.Text(t.b.Call("aten.split_with_sizes.default", {X(t), {1, 2}, 1})),
            "[%split_with_sizes,%split_with_sizes_1]");
  const std::vector<Argument> results = t.b.CallAll("aten.native_layer_norm_backward.default",
                                                    {X(t),
                                                     X(t),
                                                     {3},
                                                     t.b.Call("aten.mean.dim", {X(t), {1}, true}),
                                                     t.b.Call("aten.mean.dim", {X(t), {1}, true}),
                                                     Argument(),
                                                     Argument(),
                                                     {true, false, false}});
  ASSERT_OK(t.b.status());
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(t.b.IsTensor(results[0]));
  EXPECT_TRUE(results[1].is_none());
  EXPECT_TRUE(results[2].is_none());
  EXPECT_TRUE(t.b.Made(*results[0].get_if<ValueId>()));
  EXPECT_FALSE(t.b.Made(*X(t).get_if<ValueId>()));
}

TEST_F(OpBuilderTest, EdgeProgramsGetCopyingEdgeOperators) {
  Building t(
      "program edge { graph(%x: f32[2,3] user_input, %n: symint(s0) user_input) { return (%x "
      "user_output) } }",
      *ops_);
  t.b.Call("aten.neg.default", {X(t)});
  t.b.Call("aten.view.default", {X(t), {6}});
  t.b.Call("_operator.add", {FindValue(t.b.graph(), "n"), 1});
  ASSERT_OK(t.b.status());
  EXPECT_THAT(t.Nodes(), ElementsAre(HasSubstr("= edge.aten.neg.default(%x)"),
                                     HasSubstr("= edge.aten.view_copy.default(%x, [6])"),
                                     HasSubstr("= _operator.add(%n, 1)")));
}

TEST_F(OpBuilderTest, NewSymbolsAreNumberedAfterExistingOnes) {
  for (const auto& [ranges, want] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "u0"},
           {"u3: [0, 4]", "u4"},
           {"u3: [0, 4] u12: [0, 4] s99: [0, 4]", "u13"},
           // Other names with the same first letter.
           {"u: [0, 4] u5x: [0, 4] ux: [0, 4]", "u0"},
           {"u99999999999999999999999: [0, 4] u1: [0, 4]", "u2"}}) {
    Building t(absl::StrCat("program aten { ranges { ", ranges,
                            " } graph(%x: f32[4] user_input) { return (%x user_output) } }"),
               *ops_);
    const Argument i = t.b.Call("aten.nonzero.default", {X(t)});
    ASSERT_OK(t.b.status());
    EXPECT_EQ(t.b.size(i, 0).ToString(), want) << ranges;
    t.b.Call("aten.nonzero.default", {X(t)});
    EXPECT_TRUE(t.program.ranges.contains(want));
  }
}

// Symbols may have any name in programs that were not parsed.
TEST_F(OpBuilderTest, IgnoresSymbolsWithoutNumbers) {
  Building t(kPlain, *ops_);
  t.program.ranges["u#7"] = {0, 4};
  const Argument i = t.b.Call("aten.nonzero.default", {X(t)});
  ASSERT_OK(t.b.status());
  EXPECT_EQ(t.b.size(i, 0).ToString(), "u0");
}

TEST_F(OpBuilderTest, FindsSizesOfLaterInputs) {
  Building t(
      "program aten { graph(%c: const(none) constant_input, %f: symfloat(zf0) user_input, %x: "
      "f32[3,s0] user_input) { return (%x user_output) } }",
      *ops_);
  EXPECT_EQ(t.Text(t.b.Size(Expr("s0"))), "%sym_size");
  EXPECT_THAT(t.Nodes(), ElementsAre(HasSubstr("aten.sym_size.int(%x, 1)")));
}

TEST_F(OpBuilderTest, ARegistryWithoutArithmeticComputesNoExpressions) {
  const OpDef rows[] = {{.schema = "aten::sym_size.int(Tensor self, int dim) -> SymInt"}};
  const absl::Span<const OpDef> tables[] = {rows};
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<OpRegistry> ops, OpRegistry::Create(tables));
  for (const std::string_view expr : {"s0**2", "2*s0", "Max(s0, 3)"}) {
    Building t("program aten { graph(%x: f32[s0] user_input) { return (%x user_output) } }", *ops);
    EXPECT_EQ(t.Text(t.b.Size(Expr("s0"))), "%sym_size");
    EXPECT_TRUE(t.b.Size(Expr(expr)).is_none());
    EXPECT_THAT(t.b.status(), StatusIs(absl::StatusCode::kUnimplemented,
                                       HasSubstr("no operator is known for it")))
        << expr;
  }
}

// Symbolic operators with a constant result give literals of each kind; several results, or a
// tensor, give a node.
TEST_F(OpBuilderTest, SymbolicOperatorsOfEveryResult) {
  const auto define = [&](std::string_view schema, MetaFn meta) {
    return ops_->Define({.schema = schema, .meta = meta, .traits = kSymbolic}).status();
  };
  ASSERT_OK(define("mylib::truth(Tensor x) -> bool", [](MetaContext& context) {
    context.SetOutput(0, SymExpr::Bool(true));
    return absl::OkStatus();
  }));
  ASSERT_OK(define("mylib::tensor(Tensor x) -> Tensor", [](MetaContext& context) {
    context.SetTensor(0, DType::kFloat32, {2});
    return absl::OkStatus();
  }));
  ASSERT_OK(define("mylib::two(Tensor x) -> (SymInt, SymInt)", [](MetaContext& context) {
    context.SetOutput(0, SymExpr(1));
    context.SetOutput(1, SymExpr(2));
    return absl::OkStatus();
  }));
  Building t(kPlain, *ops_);
  EXPECT_EQ(t.Text(t.b.Call("mylib.truth.default", {X(t)})), "true");
  EXPECT_TRUE(t.Nodes().empty());
  EXPECT_EQ(t.Text(t.b.Call("mylib.tensor.default", {X(t)})), "%tensor");
  EXPECT_EQ(t.b.CallAll("mylib.two.default", {X(t)}).size(), 2u);
  ASSERT_OK(t.b.status());
  EXPECT_EQ(t.Nodes().size(), 2u);
}

TEST_F(OpBuilderTest, RejectsUnknownOperators) {
  for (const std::string_view dialect : {"aten", "edge"}) {
    Building t(absl::StrCat("program ", std::string(dialect),
                            " { graph(%x: f32[2] user_input) { %c: f32[2] = "
                            "custom.op.default(%x) return (%c user_output) } }"),
               *ops_);
    const OpOverload* opaque = t.b.graph().node(t.b.graph().first()).target;
    EXPECT_TRUE(t.b.CallAll(opaque, {X(t)}).empty());
    EXPECT_THAT(t.b.status(), StatusIs(absl::StatusCode::kUnimplemented,
                                       HasSubstr("has neither a meta kernel nor a decomposition")));
    const DecompositionTable table({});
    EXPECT_EQ(table.Find(opaque), nullptr);
    EXPECT_EQ(table.Find(*ops_->Lookup("higher_order.cond")), nullptr);
  }
}

TEST_F(OpBuilderTest, EdgeProgramsKeepViewsWithoutACopy) {
  ASSERT_OK(ops_->Define({.schema = "mylib::peek(Tensor(a) x) -> Tensor(a)",
                          .meta = [](MetaContext& context) -> absl::Status {
                            ABSL_ASSIGN_OR_RETURN(const TensorMeta* x, context.Tensor(0));
                            context.SetOutput(0, *x);
                            return absl::OkStatus();
                          }})
                .status());
  Building t("program edge { graph(%x: f32[2] user_input) { return (%x user_output) } }", *ops_);
  t.b.Call("mylib.peek.default", {X(t)});
  ASSERT_OK(t.b.status());
  EXPECT_THAT(t.Nodes(), ElementsAre(HasSubstr("= edge.mylib.peek.default(%x)")));
}

TEST_F(OpBuilderTest, CallsStayWithinTheBudget) {
  Building t(kPlain, *ops_);
  Budget budget;
  budget.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Budget::Scope scope(&budget);
  EXPECT_TRUE(t.b.Call("aten.neg.default", {X(t)}).is_none());
  EXPECT_THAT(t.b.status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_TRUE(t.Nodes().empty());
}

// Kernels get lists of the length that the schema gives.
TEST_F(OpBuilderTest, DecompositionsGetListsOfTheRightLength) {
  ASSERT_OK(ops_->Define({.schema = "mylib::window(Tensor x, int[2] size) -> Tensor"}).status());
  int calls = 0;
  ASSERT_OK(ops_->SetCompositeKernel(
      "mylib.window.default", CompositeKind::kExplicit, [&](OpBuilder& b, const OpCall& call) {
        ++calls;
        return std::vector<Argument>{b.Call("aten.mul.Scalar", {call["x"], call.Ints("size")[1]})};
      }));
  Building t(kPlain, *ops_);
  t.b.Call("mylib.window.default", {X(t), {3, 4}});
  ASSERT_OK(t.b.status());
  EXPECT_THAT(t.Nodes(), ElementsAre(HasSubstr("aten.mul.Scalar(%x, 4)")));
  EXPECT_TRUE(t.b.Call("mylib.window.default", {X(t), {3, 4, 5}}).is_none());
  EXPECT_THAT(t.b.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("'size' has 3 elements, expected 2")));
  EXPECT_EQ(calls, 1);
}

TEST_F(OpBuilderTest, DimensionsCountFromEitherEnd) {
  Building t(kPlain, *ops_);
  EXPECT_EQ(t.b.size(X(t), 1), SymInt(3));
  EXPECT_EQ(t.b.size(X(t), -2), SymInt(2));
  EXPECT_EQ(t.b.WrapDim(-1, 0), 0);  // as for rank 1
  const Argument sum = t.b.Call("aten.sum.dim_IntList", {X(t), std::vector<int64_t>{0, 1}});
  EXPECT_EQ(t.b.size(sum, 0), SymInt(1));
  ASSERT_OK(t.b.status());
  for (const int64_t dim : {2, -3}) {
    Building u(kPlain, *ops_);
    EXPECT_EQ(u.b.WrapDim(dim, 2), 0);
    EXPECT_THAT(u.b.status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("dimension ", dim, " of a tensor of rank 2"))));
  }
  for (const char* value : {"3", "%n"}) {
    Building u(kPlain, *ops_);
    const Argument other =
        value[0] == '%' ? Argument(FindValue(u.b.graph(), "n")) : Argument(int64_t{3});
    EXPECT_FALSE(u.b.IsTensor(other));
    EXPECT_EQ(u.b.rank(other), 0);
    EXPECT_THAT(u.b.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr(absl::StrCat("expected a tensor, got ", value))));
  }
}

TEST_F(OpBuilderTest, SubgraphsAreAddedWhenTheBuilderIsDestroyed) {
  ExportedProgram program = ParseOrDie(kPlain, *ops_);
  GraphEditor editor(program.graphs[ExportedProgram::kTop]);
  TensorMeta row = TensorMeta::Contiguous(DType::kFloat32, {3});
  {
    OpBuilder b(program, editor);
    b.MoveToEnd();
    const GraphId body =
        b.AddBody("row", {row}, [](OpBuilder& inner, const std::vector<Argument>& in) {
          return std::vector<Argument>{inner.Call("aten.neg.default", {in[0]})};
        });
    const std::vector<Argument> results =
        b.CallHigherOrder("higher_order.map_impl",
                          {body, Argument::List{FindValue(b.graph(), "x")}, Argument::List{}},
                          {TensorMeta::Contiguous(DType::kFloat32, {2, 3})});
    ASSERT_OK(b.status());
    EXPECT_EQ(results.size(), 1u);
    EXPECT_EQ(program.graphs.size(), 1u);
  }
  ASSERT_EQ(program.graphs.size(), 2u);
  EXPECT_THAT(PrintProgram(program), AllOf(HasSubstr("higher_order.map_impl(graph#1, [%x], [])"),
                                           HasSubstr("aten.neg.default(%input)")));
  OpBuilder b(program, editor);
  EXPECT_FALSE(b.AddBody("row", {row}, [](OpBuilder& inner, const std::vector<Argument>&) {
                  inner.Unsupported("not this one");
                  return std::vector<Argument>();
                }).valid());
  EXPECT_THAT(b.status(), StatusIs(absl::StatusCode::kUnimplemented, "not this one"));
  OpBuilder other(program, editor);
  EXPECT_TRUE(other.CallHigherOrder("higher_order.zoo", {}, {}).empty());
  EXPECT_FALSE(other.ok());
}

}  // namespace
}  // namespace belay::exir
