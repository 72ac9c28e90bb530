#include "exir/ir/match.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/ir/exported_program.h"
#include "exir/testing/programs.h"
#include "exir/testing/test_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace belay::exir::match {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A graph with the inputs %x, %y and %z; patterns are matched from its last node.
class MatchTest : public ::testing::Test {
 protected:
  void Read(std::string_view nodes) {
    program_ = ParseOrDie(
        absl::StrCat("program aten { graph(%x: f32[2,8] user_input, %y: f32[2,8] user_input, "
                     "%z: f32[2,8] user_input) { ",
                     nodes, " return (%r user_output) } }"),
        TestOps());
  }
  // Names of the matched nodes; "no match".
  std::vector<std::string> Matched(const Pattern& pattern) const {
    const Graph& graph = program_.top();
    const auto nodes = Matcher(graph).Match(pattern, graph.last());
    if (!nodes.has_value()) return {"no match"};
    std::vector<std::string> names;
    for (NodeId id : *nodes) names.push_back(graph.node(id).name);
    return names;
  }
  std::string NameOf(ValueId value) const { return program_.top().value(value).name; }

  ExportedProgram program_ = ParseOrDie("program aten { graph() { return () } }", TestOps());
};
constexpr const char* kNoMatch = "no match";

TEST_F(MatchTest, ListsUsersBeforeOperands) {
  Read(
      "%a: f32[2,8] = aten.neg.default(%x) %b: f32[2,8] = aten.relu.default(%y) "
      "%r: f32[2,8] = aten.mul.Tensor(%a, %b)");
  ValueId left, right;
  EXPECT_THAT(Matched(Op("mul", Op("neg", Value(&left)), Op("relu", Value(&right)))),
              ElementsAre("r", "a", "b"));
  EXPECT_EQ(NameOf(left), "x");
  EXPECT_EQ(NameOf(right), "y");
  EXPECT_THAT(Matched(Op("mul", Op("relu", Value()), Op("neg", Value()))), ElementsAre(kNoMatch));
}

TEST_F(MatchTest, NamesWithDotsAreOverloads) {
  Read("%r: f32[2,8] = aten.mul.Scalar(%x, 2)");
  EXPECT_THAT(Matched(Op("mul", Any(), Any())), ElementsAre("r"));
  EXPECT_THAT(Matched(Op("aten.mul.Scalar", Any(), Any())), ElementsAre("r"));
  EXPECT_THAT(Matched(Op({"neg", "mul"}, Any())), ElementsAre("r"));
  EXPECT_THAT(Matched(Op("aten.mul.Tensor", Any(), Any())), ElementsAre(kNoMatch));
  EXPECT_THAT(Matched(Op("mul.Scalar", Any(), Any())), ElementsAre(kNoMatch));
}

TEST_F(MatchTest, OperandsInEitherOrder) {
  Read("%a: f32[2,8] = aten.neg.default(%x) %r: f32[2,8] = aten.mul.Tensor(%y, %a)");
  ValueId factor;
  EXPECT_THAT(Matched(EitherOrder("mul", Op("neg", Any()), Value(&factor))), ElementsAre("r", "a"));
  EXPECT_EQ(NameOf(factor), "y");
}

// %a matches in its first order, but then the second operand of %r does not match.
TEST_F(MatchTest, RetriesOrdersOfEarlierOperands) {
  Read(
      "%a: f32[2,8] = aten.mul.Tensor(%x, %y) %b: f32[2,8] = aten.neg.default(%y) "
      "%r: f32[2,8] = aten.sub.Tensor(%a, %b)");
  ValueId row, factor;
  const Pattern pattern =
      Op("sub", EitherOrder("mul", Value(&row), Value(&factor)), Op("neg", Same(&row)));
  EXPECT_THAT(Matched(pattern), ElementsAre("r", "a", "b"));
  EXPECT_EQ(NameOf(row), "y");
  EXPECT_EQ(NameOf(factor), "x");
}

TEST_F(MatchTest, RetriesAlternatives) {
  Read(
      "%a: f32[2,8] = aten.neg.default(%x) %b: f32[2,8] = aten.neg.default(%a) "
      "%r: f32[2,8] = aten.mul.Tensor(%b, %x)");
  ValueId x;
  const Pattern negated = OneOf({Op("neg", Value(&x)), Op("neg", Op("neg", Value(&x)))});
  EXPECT_THAT(Matched(Op("mul", negated, Same(&x))), ElementsAre("r", "b", "a"));
  EXPECT_THAT(Matched(Op("mul", OneOf({}), Any())), ElementsAre(kNoMatch));
}

TEST_F(MatchTest, NumbersAreLiteralsByDefault) {
  Read("%r: f32[2,8] = aten.mul.Scalar(%x, 2)");
  double factor = 0;
  EXPECT_THAT(Matched(Op("mul", Any(), Number(&factor))), ElementsAre("r"));
  EXPECT_EQ(factor, 2);
  EXPECT_THAT(Matched(Op("mul", Any(), Number(2))), ElementsAre("r"));
  EXPECT_THAT(Matched(Op("mul", Any(), Number(3))), ElementsAre(kNoMatch));
  EXPECT_THAT(Matched(Op("mul", Any(), Number([](double n) { return n > 1; }))), ElementsAre("r"));
  EXPECT_THAT(Matched(Op("mul", Any(), Literal(2))), ElementsAre("r"));
  EXPECT_THAT(Matched(Op("mul", Any(), Literal(2.0))), ElementsAre(kNoMatch));
  EXPECT_THAT(Matched(Op("mul", Number(2), Any())), ElementsAre(kNoMatch));
  const Matcher halves(program_.top(), [](const Argument&) { return 0.5; });
  EXPECT_TRUE(halves.Match(Op("mul", Any(), Number(0.5)), program_.top().last()).has_value());
}

TEST_F(MatchTest, ArgumentsByName) {
  Read("%r: f32[2,8] = aten.add.Tensor(%x, %y, alpha=2)");
  Argument alpha;
  EXPECT_THAT(Matched(Op("add", Any(), Any()).With("alpha", Any(&alpha))), ElementsAre("r"));
  EXPECT_EQ(alpha, Argument(2));
  EXPECT_THAT(Matched(Sum(Any(), Any())), ElementsAre(kNoMatch));
  EXPECT_THAT(Matched(Op("add", Any()).With("beta", Literal(Argument()))), ElementsAre("r"));
  Read("%r: f32[2,8] = aten.add.Tensor(%x, %y)");
  EXPECT_THAT(Matched(Sum(Any(), Any())), ElementsAre("r"));
}

TEST_F(MatchTest, LastDimensions) {
  for (const char* dim : {"[-1]", "[1]"}) {
    Read(absl::StrCat("%r: f32[2,1] = aten.mean.dim(%x, ", dim, ", true)"));
    EXPECT_THAT(Matched(Op("mean", Value(), LastDim())), ElementsAre("r")) << dim;
  }
  for (const char* dim : {"[0]", "[-2]", "[0, 1]", "[]", "none"}) {
    Read(absl::StrCat("%r: f32[2,1] = aten.mean.dim(%x, ", dim, ", true)"));
    EXPECT_THAT(Matched(Op("mean", Value(), LastDim())), ElementsAre(kNoMatch)) << dim;
  }
  Read("%r: f32[2,16] = aten.cat.default([%x, %y], 1)");
  EXPECT_THAT(Matched(Op("cat", Any(), LastDim())), ElementsAre("r"));
  EXPECT_FALSE(Matcher(program_.top()).Match(LastDim(), Argument(-1)).has_value());
}

TEST_F(MatchTest, Lists) {
  Read("%r: f32[2,16] = aten.cat.default([%x, %y], 1)");
  ValueId first;
  EXPECT_THAT(Matched(Op("cat", ListOf({Value(&first), Value()}))), ElementsAre("r"));
  EXPECT_EQ(NameOf(first), "x");
  EXPECT_THAT(Matched(Op("cat", ListOf({Value()}))), ElementsAre(kNoMatch));
  EXPECT_THAT(Matched(Op("cat", Value())), ElementsAre(kNoMatch));
}

TEST_F(MatchTest, ResultsByIndex) {
  Read(
      "[%a: f32[2,4], %b: f32[2,4]] = aten.split_with_sizes.default(%x, [4, 4], 1) "
      "%r: f32[2,4] = aten.neg.default(%b)");
  const Pattern split = Op("split_with_sizes", Value());
  EXPECT_EQ(Matched(Op("neg", split.Output(1))).size(), 2);
  EXPECT_THAT(Matched(Op("neg", split)), ElementsAre(kNoMatch));
  EXPECT_THAT(Matched(Op("neg", split.Output(2))), ElementsAre(kNoMatch));
}

TEST_F(MatchTest, ConditionsSeeTheValue) {
  Read("%a: f32[2,8] = aten.neg.default(%x) %r: f32[2,8] = aten.relu.default(%a)");
  std::string seen;
  NodeId negation;
  const Pattern neg = Op("neg", Any()).As(&negation).If([&](ValueId value) {
    seen = NameOf(value);
    return true;
  });
  EXPECT_THAT(Matched(Op("relu", neg)), ElementsAre("r", "a"));
  EXPECT_EQ(seen, "a");
  EXPECT_EQ(program_.top().node(negation).name, "a");
  EXPECT_THAT(Matched(Op("relu", neg.If([](ValueId) { return false; }))), ElementsAre(kNoMatch));
}

TEST_F(MatchTest, InputsAndShortCallsDoNotMatch) {
  Read("%r: f32[2,8] = aten.neg.default(%x)");
  EXPECT_THAT(Matched(Op("neg", Op("neg", Any()))), ElementsAre(kNoMatch));
  EXPECT_THAT(Matched(Op("neg", Any(), Any())), ElementsAre(kNoMatch));
  EXPECT_FALSE(Matcher(program_.top()).Match(Op("neg", Any()), NodeId()).has_value());
  EXPECT_THAT(Matcher(program_.top()).Match(Any(), Argument(3)).value(), IsEmpty());
}

TEST_F(MatchTest, OperandOfNamedOperators) {
  Read("%r: f32[2,8] = aten.neg.default(%x)");
  const Matcher matcher(program_.top());
  const ValueId r = program_.top().ResultOf(program_.top().last());
  EXPECT_EQ(matcher.OperandOf({"relu", "neg"}, r), FindValue(program_.top(), "x"));
  EXPECT_EQ(matcher.OperandOf("relu", r), std::nullopt);
  EXPECT_EQ(matcher.OperandOf("neg", FindValue(program_.top(), "x")), std::nullopt);
}

}  // namespace
}  // namespace belay::exir::match
