#include "exir/symbolic/sym_expr.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

SymExpr Parse(std::string_view text) {
  const absl::StatusOr<SymExpr> e = ParseSymExpr(text);
  EXPECT_TRUE(e.ok()) << e.status();
  return e.ok() ? *e : SymExpr::Symbol("parse_error");
}
std::string Text(std::string_view text) { return Parse(text).ToString(); }

std::optional<int64_t> NoSymbols(std::string_view) { return std::nullopt; }

TEST(SymExprTest, EqualPolynomialsAreEqualExpressions) {
  EXPECT_EQ(Text("s0 + 1 + s0"), "2*s0 + 1");
  EXPECT_EQ(Text("(s0 + s1)*(s0 - s1)"), "s0**2 - s1**2");
  EXPECT_EQ(Text("(s0 + 1)**2 - s0**2 - 2*s0 - 1"), "0");
  EXPECT_EQ(Text("s1*s0*3*s0"), "3*s0**2*s1");
  EXPECT_EQ(Text("-(s0 - s1)"), "-s0 + s1");
  EXPECT_EQ(Text("s0*s1/s1"), "s0");
  EXPECT_EQ(Text("s0/2 + s0/2"), "s0");
  EXPECT_EQ(SymExpr::Symbol("a") + 2, SymExpr(2) + SymExpr::Symbol("a"));
  EXPECT_FALSE(SymExpr::Symbol("a") == SymExpr::Symbol("b"));
  EXPECT_FALSE(SymExpr(2) == SymExpr::Float(2));
}

TEST(SymExprTest, TruthValuesInSumsAndProductsAreNumbers) {
  EXPECT_EQ(Text("s/true"), "s");
  EXPECT_EQ(Text("true*s"), "s");
  EXPECT_EQ(Text("true*true*s"), "s");
  EXPECT_EQ(Text("false*s"), "0");
  EXPECT_EQ(Text("true + s"), "s + 1");
  EXPECT_EQ(Text("s - false"), "s");
  EXPECT_EQ(Text("s/false"), Text("s/0"));
  EXPECT_EQ(Text("true"), "true");
}

TEST(SymExprTest, ReadsSreprAndInfixAlike) {
  EXPECT_EQ(Parse("Add(Symbol('s77', positive=True, integer=True), Integer(-1))"),
            Parse("s77 - 1"));
  EXPECT_EQ(Parse("Mul(Integer(2), Symbol('s0', integer=True))"), Parse("2*s0"));
  EXPECT_EQ(Parse("Pow(Symbol('s0'), Integer(2))"), Parse("s0**2"));
  EXPECT_EQ(Parse("FloorDiv(Symbol('s0'), Integer(2))"), Parse("s0//2"));
  EXPECT_EQ(Parse("torch.utils._sympy.functions.FloorDiv(s0, 2)"), Parse("s0//2"));
  EXPECT_EQ(Parse("Equality(Symbol('u0'), Integer(4))"), Parse("u0 == 4"));
  EXPECT_EQ(Parse("StrictGreaterThan(s0, s1)"), Parse("s0 > s1"));
  EXPECT_EQ(Parse("And(s0 > 1, s1 < 2)"), Parse("(s0 > 1) & (s1 < 2)"));
  EXPECT_EQ(Parse("Float('0.5', precision=53)"), SymExpr::Float(0.5));
  EXPECT_EQ(Parse("Integer(-9223372036854775808)"), SymExpr(INT64_MIN));
  EXPECT_EQ(Parse("-9223372036854775808"), SymExpr(INT64_MIN));
  EXPECT_EQ(Parse("s0 - 9223372036854775808"), SymExpr::Symbol("s0") + INT64_MIN);
  EXPECT_EQ(Text("s0 - 9223372036854775808 * s1"), "s0 - 9223372036854775808*s1");
  EXPECT_EQ(Parse("~-9223372036854775808"), SymExpr::Function("Not", {SymExpr(INT64_MIN)}));
  for (const std::string_view beyond :
       {"9223372036854775808", "s0 + 9223372036854775808", "s0 - 9223372036854775808 // 2",
        "s0 - 9223372036854775808 % 2", "s0 - 9223372036854775808 ** 2", "-92233720368547758080"}) {
    EXPECT_FALSE(ParseSymExpr(beyond).ok()) << beyond;
  }
  for (const std::string_view keyword : {"s//not()", "s//not", "2*or", "s % and(s)", "-a.not"}) {
    EXPECT_FALSE(ParseSymExpr(keyword).ok()) << keyword;
  }
  EXPECT_EQ(Parse("-2**2"), SymExpr(-4));
  EXPECT_EQ(Parse("Float('1.0e+309', precision=53)"), SymExpr::Float(HUGE_VAL));
  EXPECT_EQ(Parse("Float('-1.0e+309', precision=53)"), SymExpr::Float(-HUGE_VAL));
  EXPECT_EQ(Parse("Float('1.0e-400', precision=53)"), SymExpr::Float(0));
  EXPECT_EQ(Parse("1e999*s0"), Parse("inf*s0"));
  EXPECT_EQ(Parse("Max(Integer(1), s0,)"), Parse("Max(s0, 1)"));
  EXPECT_EQ(Parse("Mul(Rational(1, 2), s0)"), Parse("s0/2"));
  EXPECT_EQ(Parse("true"), SymExpr::Bool(true));
  EXPECT_EQ(Parse("not (s0 < s1)"), Parse("s0 >= s1"));
}

TEST(SymExprTest, PrintsWhatParsesBackToAnEqualExpression) {
  for (std::string_view text : {"0",
                                "-7",
                                "s0",
                                "2*s0 + 1",
                                "-s0",
                                "s0*s1**3 - 5*s0 - 4",
                                "FloorDiv(s0 - 3, 2) + 1",
                                "Max(s0, 1)",
                                "0.5*s0",
                                "1e+300",
                                "Rational(1, 3)*s0",
                                "s0**(-1)",
                                "(s0 + s1)**(-2)",
                                "Pow(2, s0)",
                                "Eq(s0, 4)",
                                "Where(s0 > 3, s1, 2)",
                                "And(s0 > 1, Or(s1 < 2, Not(Foo(s2))))",
                                "Mystery(s0, Mystery(2))",
                                "Symbol('weird name\\'')",
                                "Symbol('and')",
                                "inf",
                                "-inf",
                                "-inf*s0",
                                "(a+b+c+d+e+f+g+h)*(i+j+k+l+m+n+o+p)*(q+r+s+t+u+v+w+x)",
                                "(s0+1)**100 + 3",
                                "2*(a+b+c+d+e+f)**9",
                                "IntTrueDiv(s0, 2) + 1.5",
                                "CeilDiv(s0, s1)",
                                "PythonMod(s0 + 5, 4)",
                                "-9223372036854775808"}) {
    const SymExpr e = Parse(text);
    EXPECT_EQ(Parse(e.ToString()), e) << text << " prints as " << e.ToString();
  }
}

TEST(SymExprTest, FloorDivSimplifiesWhereItIsExact) {
  EXPECT_EQ(Text("FloorDiv(a*s, a)"), "s");
  EXPECT_EQ(Text("FloorDiv(s, 1)"), "s");
  EXPECT_EQ(Text("FloorDiv(s, s)"), "1");
  EXPECT_EQ(Text("FloorDiv(4*s + 2, 2)"), "2*s + 1");
  EXPECT_EQ(Text("FloorDiv(4*s + 3, 4)"), "s");
  EXPECT_EQ(Text("FloorDiv(2*s, 4)"), "FloorDiv(s, 2)");
  EXPECT_EQ(Text("FloorDiv(FloorDiv(s, 2), 3)"), "FloorDiv(s, 6)");
  EXPECT_EQ(Text("FloorDiv(a*s + s, a + 1)"), "s");
  EXPECT_EQ(Text("FloorDiv(s, t)"), "FloorDiv(s, t)");
  EXPECT_EQ(Text("FloorDiv(s, 0)"), "FloorDiv(s, 0)");
  EXPECT_EQ(Text("FloorDiv(-7, 2)"), "-4");
  EXPECT_EQ(Text("FloorDiv(zf0, 2)"), "FloorDiv(zf0, 2)");
  // Another name for the same.
  EXPECT_EQ(Text("CleanDiv(s, t)"), "FloorDiv(s, t)");
  EXPECT_EQ(Text("CleanDiv(3, 3.0)"), Text("FloorDiv(3, 3.0)"));
}

TEST(SymExprTest, QuotientsThatRemainOfADivisionAreDividedToo) {
  EXPECT_EQ(Text("(s//5*3)//6"), "FloorDiv(s, 10)");
  EXPECT_EQ(Text("(4*s + t//3)//4"), "s + FloorDiv(t, 12)");
  EXPECT_EQ(Text("(8*s + 2*(t//3))//4"), "2*s + FloorDiv(t, 6)");
}

TEST(SymExprTest, OtherFunctionsSimplify) {
  EXPECT_EQ(Text("Mod(a*s, a)"), "0");
  EXPECT_EQ(Text("PythonMod(4*s + 5, 4)"), "1");
  EXPECT_EQ(Text("Max(s, s)"), "s");
  EXPECT_EQ(Text("Max(s + 1, Max(s + 3, 2))"), "Max(2, s + 3)");
  EXPECT_EQ(Text("Min(s + 1, s)"), "s");
  // Of these the first two have no difference that is an int64.
  EXPECT_EQ(Text("Max(-9223372036854775807 - 1, 1, 1e300, s)"), "Max(1e+300, s)");
  EXPECT_EQ(Text("Eq(s + 1, s)"), "false");
  // s has no difference to it that is an int64, but it has one to s.
  EXPECT_EQ(Text("Ne(s, s - 9223372036854775807 - 1)"), "true");
  EXPECT_EQ(Text("Ne(s - 9223372036854775807 - 1, s)"), "true");
  EXPECT_EQ(Text("Le(s, s)"), "true");
  EXPECT_EQ(Text("Or(s > 1, true)"), "true");
  EXPECT_EQ(Text("And(s > 1, s > 1)"), "Gt(s, 1)");
  EXPECT_EQ(Text("TruncToInt(s)"), "s");
  EXPECT_EQ(Text("Identity(s)"), "s");
  EXPECT_EQ(Text("Where(2 > 1, s, t)"), "s");
  EXPECT_EQ(Text("CeilDiv(7, 2)"), "4");
}

TEST(SymExprTest, ModuloFollowsTheSignsOfItsDefinition) {
  EXPECT_EQ(Parse("PythonMod(-7, 3)"), SymExpr(2));
  EXPECT_EQ(Parse("PythonMod(7, -3)"), SymExpr(-2));
  EXPECT_EQ(Parse("Mod(-7, 3)"), SymExpr(-1));
  EXPECT_EQ(Parse("Mod(7, 3)"), Parse("PythonMod(7, 3)"));
}

TEST(SymExprTest, EvaluatesEveryHead) {
  const auto symbol = [](std::string_view name) -> std::optional<int64_t> {
    if (name == "s") return 7;
    if (name == "t") return 2;
    return std::nullopt;
  };
  const std::pair<std::string_view, int64_t> kInts[] = {{"s*t - 1", 13},
                                                        {"FloorDiv(-s, t)", -4},
                                                        {"CeilDiv(s, t)", 4},
                                                        {"CleanDiv(s, t)", 3},
                                                        {"PythonMod(-s, t)", 1},
                                                        {"Mod(-s, t)", -1},
                                                        {"ModularIndexing(s, t, 2)", 1},
                                                        {"Max(s, t)", 7},
                                                        {"Min(s, t, 1)", 1},
                                                        {"LShift(s, t)", 28},
                                                        {"RShift(s, t)", 1},
                                                        {"PowByNatural(s, t)", 49},
                                                        {"Where(s > t, s, t)", 7},
                                                        {"TruncToInt(IntTrueDiv(-s, t))", -3},
                                                        {"RoundToInt(IntTrueDiv(s, t))", 4},
                                                        {"RoundToInt(IntTrueDiv(5, t))", 2},
                                                        {"CeilToInt(FloatTrueDiv(s, t))", 4},
                                                        {"FloorToInt(IntTrueDiv(-s, t))", -4},
                                                        {"s/t + Rational(1, 2)", 4},
                                                        {"Abs(-s)", 7},
                                                        {"s**t", 49},
                                                        {"BitwiseFn_bitwise_and(s, t)", 2}};
  for (const auto& [text, want] : kInts) EXPECT_EQ(Parse(text).EvaluateInt(symbol), want) << text;
  const std::pair<std::string_view, double> kFloats[] = {
      {"IntTrueDiv(s, t)", 3.5},
      {"ToFloat(s)", 7},
      {"FloatPow(s, 0.5)", std::sqrt(7.0)},
      {"TruncToFloat(IntTrueDiv(s, t))", 3},
      {"RoundDecimal(IntTrueDiv(s, 3), 2)", 2.33},
      {"OpaqueUnaryFn_sqrt(t)", std::sqrt(2.0)},
      {"0.5*s", 3.5}};
  for (const auto& [text, want] : kFloats)
    EXPECT_EQ(Parse(text).EvaluateFloat(symbol), want) << text;
  const std::pair<std::string_view, bool> kBools[] = {{"s == 7", true},
                                                      {"s != 7", false},
                                                      {"s < t", false},
                                                      {"s <= 7", true},
                                                      {"s > t", true},
                                                      {"t >= s", false},
                                                      {"And(s > t, t > s)", false},
                                                      {"Or(s > t, unknown > 1)", true},
                                                      {"And(s < t, unknown > 1)", false},
                                                      {"Not(s > t)", false}};
  for (const auto& [text, want] : kBools) EXPECT_EQ(Parse(text).EvaluateBool(symbol), want) << text;
}

TEST(SymExprTest, EvaluatesToNothingWhereThereIsNoValue) {
  EXPECT_EQ(Parse("s").EvaluateInt(&NoSymbols), std::nullopt);
  EXPECT_EQ(Parse("FloorDiv(1, 0)").EvaluateInt(&NoSymbols), std::nullopt);
  EXPECT_EQ(Parse("Mystery(1)").EvaluateInt(&NoSymbols), std::nullopt);
  EXPECT_EQ(Parse("FloorDiv(-9223372036854775808, -1)").EvaluateInt(&NoSymbols), std::nullopt);
  EXPECT_EQ(Parse("9223372036854775807*2").EvaluateInt(&NoSymbols), std::nullopt);
  EXPECT_EQ(
      Parse("s*s").EvaluateInt([](std::string_view) { return std::optional<int64_t>(INT64_MAX); }),
      std::nullopt);
  EXPECT_EQ(Parse("s/2").EvaluateInt([](std::string_view) { return std::optional<int64_t>(3); }),
            std::nullopt);
  EXPECT_EQ(Parse("TruncToInt(1e300)").EvaluateInt(&NoSymbols), std::nullopt);
  EXPECT_EQ(Parse("RShift(s, t)").EvaluateInt([](std::string_view) {
    return std::optional<int64_t>(-1);
  }),
            std::nullopt);
}

TEST(SymExprTest, RangesHoldTheLastNumbers) {
  constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
  const SymRanges ranges = {{"s", {2, 10}}};
  EXPECT_EQ(Parse("9223372036854775807").Range(ranges), (SymRange{kMax, kMax}));
  const SymRange less = Parse("9223372036854775807 - s").Range(ranges);
  EXPECT_LE(less.min, kMax - 10);
  EXPECT_GE(less.max, kMax - 2);
  const SymRange more = Parse("s + -9223372036854775808").Range(ranges);
  EXPECT_LE(more.min, kMin + 2);
  EXPECT_GE(more.max, kMin + 10);
  // A sum beyond what an int64 holds, and back.
  const SymRange back =
      Parse("Max(s, 4611686018427387904) + 4611686018427387904 - s").Range(ranges);
  EXPECT_LE(back.min, kMax - 9);
  for (const char* text : {"FloorDiv(-9223372036854775808, -s)", "Abs(s - 9223372036854775808)",
                           "FloorDiv(9223372036854775807, s)"}) {
    const SymExpr expression = Parse(text);
    const SymRange range = expression.Range(ranges);
    for (int64_t s = 2; s <= 10; ++s) {
      const std::optional<int64_t> value =
          expression.EvaluateInt([s](std::string_view) { return std::optional<int64_t>(s); });
      ASSERT_TRUE(value.has_value()) << text;
      EXPECT_LE(range.min, *value) << text;
      EXPECT_GE(range.max, *value) << text;
    }
  }
}

TEST(SymExprTest, RangesAreIntervals) {
  const SymRanges ranges = {{"s", {2, 10}}, {"t", {-3, 4}}, {"u", {1, SymRange::kUnboundedAbove}}};
  const auto range = [&](std::string_view text) { return Parse(text).Range(ranges); };
  constexpr int64_t kInf = SymRange::kUnboundedAbove;
  EXPECT_EQ(range("2*s + 1"), (SymRange{5, 21}));
  EXPECT_EQ(range("s - t"), (SymRange{-2, 13}));
  EXPECT_EQ(range("s*t"), (SymRange{-30, 40}));
  EXPECT_EQ(range("t**2"), (SymRange{0, 16}));
  EXPECT_EQ(range("u + 1"), (SymRange{2, kInf}));
  EXPECT_EQ(range("-u"), (SymRange{SymRange::kUnboundedBelow, -1}));
  EXPECT_EQ(range("unknown"), (SymRange{0, kInf}));
  EXPECT_EQ(range("FloorDiv(s, 3)"), (SymRange{0, 3}));
  EXPECT_EQ(range("FloorDiv(t, 2)"), (SymRange{-2, 2}));
  EXPECT_EQ(range("FloorDiv(s, unknown)"), (SymRange{0, 10}));
  EXPECT_EQ(range("CeilDiv(s, 3)"), (SymRange{1, 4}));
  EXPECT_EQ(range("PythonMod(t, 3)"), (SymRange{0, 2}));
  EXPECT_EQ(range("PythonMod(s, 100)"), (SymRange{2, 10}));
  EXPECT_EQ(range("Max(s, 5)"), (SymRange{5, 10}));
  EXPECT_EQ(range("Min(s, u)"), (SymRange{1, 10}));
  EXPECT_EQ(range("s < 20"), (SymRange{1, 1}));
  EXPECT_EQ(range("s > 10"), (SymRange{0, 0}));
  EXPECT_EQ(range("s >= t"), (SymRange{0, 1}));
  EXPECT_EQ(range("Where(s < 20, s, t)"), (SymRange{2, 10}));
  EXPECT_EQ(range("9223372036854775806*u + s"), (SymRange{kInf, kInf}));
}

// What is beyond the last int64 has that as its end, whichever number it is.
TEST(SymExprTest, InfiniteEndsDecideNoRelation) {
  constexpr int64_t kAbove = SymRange::kUnboundedAbove, kBelow = SymRange::kUnboundedBelow;
  const SymRanges ranges = {{"u", {1, kAbove}},  {"v", {kAbove, kAbove}}, {"w", {kAbove, kAbove}},
                            {"k", {kBelow, -1}}, {"m", {kBelow, kBelow}}, {"n", {kBelow, kBelow}}};
  const SymRange open = {0, 1};
  for (const char* text :
       {"u <= v", "v >= u", "v < u", "u > v", "v <= w", "v < w", "Eq(v, w)", "Ne(v, w)", "m <= k",
        "k >= m", "k < m", "m > k", "m <= n", "Eq(m, n)"}) {
    EXPECT_EQ(Parse(text).Range(ranges), open) << text;
  }
  for (const char* text : {"k < u", "k <= u", "m < v", "Ne(k, u)"}) {
    EXPECT_EQ(Parse(text).Range(ranges), (SymRange{1, 1})) << text;
  }
}

TEST(SymExprTest, RangesOfFloatsAreIntervalsOfTheirOwn) {
  const SymRanges ranges = {{"s", {8, 100}}, {"t", {-3, 4}}, {"zf0", {0, 5}}};
  const auto range = [&](std::string_view text) { return Parse(text).Range(ranges); };
  constexpr int64_t kInf = SymRange::kUnboundedAbove, kNone = SymRange::kUnboundedBelow;
  EXPECT_EQ(range("TruncToInt(FloatTrueDiv(ToFloat(s), 0.5))"), (SymRange{16, 200}));
  const SymRange quotient = range("TruncToInt(FloatTrueDiv(0.7*ToFloat(s), 0.1))");
  EXPECT_GE(quotient.min, 54);
  EXPECT_LE(quotient.min, 56);
  EXPECT_GE(quotient.max, 700);
  EXPECT_LE(quotient.max, 701);
  EXPECT_EQ(range("TruncToInt(FloatPow(ToFloat(s), 0.5))"), (SymRange{2, 10}));
  EXPECT_EQ(range("FloatPow(ToFloat(t), 2.0)"), (SymRange{0, 16}));
  EXPECT_EQ(range("FloatPow(ToFloat(t), 3.0)"), (SymRange{-27, 64}));
  EXPECT_EQ(range("FloatPow(ToFloat(t), 0.5)"), (SymRange{kNone, kInf}));
  EXPECT_EQ(range("OpaqueUnaryFn_sqrt(s)"), (SymRange{2, 11}));
  EXPECT_EQ(range("TruncToInt(IntTrueDiv(s, 2))"), (SymRange{4, 50}));
  EXPECT_EQ(range("CeilToInt(IntTrueDiv(s, 3))"), (SymRange{3, 34}));
  // A divisor that is no integer may be between 0 and 1.
  EXPECT_EQ(range("FloorToInt(IntTrueDiv(-1, zf0))"), (SymRange{kNone, kInf}));
  EXPECT_EQ(range("CeilToInt(IntTrueDiv(4, s/64))"), (SymRange{3, 32}));
  EXPECT_EQ(range("RoundToInt(0.25*ToFloat(s))"), (SymRange{2, 25}));
  EXPECT_EQ(range("FloatTrueDiv(1.0, zf0)"), (SymRange{kNone, kInf}));
  EXPECT_EQ(range("FloorDiv(ToFloat(s), 0.25)"), (SymRange{32, 400}));
  EXPECT_EQ(range("PythonMod(ToFloat(s), 2.5)"), (SymRange{0, 3}));
  EXPECT_EQ(range("PythonMod(ToFloat(t), -2.5)"), (SymRange{-3, 0}));
  EXPECT_EQ(range("Max(0.5*ToFloat(t), 0.25)"), (SymRange{0, 2}));
  EXPECT_EQ(range("Abs(0.5*ToFloat(t))"), (SymRange{0, 2}));
  EXPECT_EQ(range("Where(s > 7, 0.5*ToFloat(s), 1e9)"), (SymRange{4, 50}));
  EXPECT_EQ(range("RoundDecimal(IntTrueDiv(s, 2), 1)").max, 51);
  EXPECT_EQ(range("s/2 + 1"), (SymRange{5, 51}));
  EXPECT_EQ(range("ToFloat(s)*inf"), (SymRange{kInf, kInf}));
}

TEST(SymExprTest, RangesOfBitsAreThoseOfTheirWidth) {
  const SymRanges ranges = {{"s", {8, 100}}, {"t", {-3, 4}}, {"u", {0, SymRange::kUnboundedAbove}}};
  const auto range = [&](std::string_view text) { return Parse(text).Range(ranges); };
  EXPECT_EQ(range("BitwiseFn_bitwise_and(s, 7)"), (SymRange{0, 7}));
  EXPECT_EQ(range("BitwiseFn_bitwise_and(u, 7) + 1"), (SymRange{1, 8}));
  EXPECT_EQ(range("BitwiseFn_bitwise_and(s, u)"), (SymRange{0, 100}));
  EXPECT_EQ(range("BitwiseFn_bitwise_and(t, -2)"), (SymRange{-8, 7}));
  EXPECT_EQ(range("BitwiseFn_bitwise_or(s, 16)"), (SymRange{16, 127}));
  EXPECT_EQ(range("BitwiseFn_bitwise_or(t, s)"), (SymRange{-128, 127}));
  EXPECT_EQ(range("BitwiseFn_bitwise_or(u, 1)"), (SymRange{1, SymRange::kUnboundedAbove}));
}

TEST(SymExprTest, FloatsStayInTheirRanges) {
  std::mt19937 random(static_cast<uint32_t>(TestSeed()));
  const auto pick = [&](unsigned n) { return random() % n; };
  const std::string_view numbers[] = {"0.1", "0.7", "2.5", "3.0", "0.3", "-0.9", "1e-3"};
  const std::string_view calls[] = {"FloatTrueDiv", "FloatPow", "Max", "PythonMod", "FloorDiv"};
  for (int i = 0; i < 5000; ++i) {
    std::string text = "ToFloat(s)";
    for (int k = 0; k < 3; ++k) {
      const std::string_view number = numbers[pick(7)];
      text = pick(2) == 0 ? absl::StrCat(calls[pick(5)], "(", text, ", ", number, ")")
                          : absl::StrCat("(", text, pick(2) == 0 ? "*" : " + ", number, ")");
    }
    const int64_t s = 8 + static_cast<int64_t>(pick(93));
    const SymExpr e = Parse(text);
    const std::optional<double> value =
        e.EvaluateFloat([s](std::string_view) { return std::optional<int64_t>(s); });
    if (!value.has_value() || std::abs(*value) > 1e18) continue;
    const SymRange range = e.Range({{"s", {8, 100}}});
    ASSERT_LE(static_cast<double>(range.min), *value) << text << " for " << s;
    ASSERT_GE(static_cast<double>(range.max), *value) << text << " for " << s;
    const SymExpr integer = SymExpr::Function("TruncToInt", {e});
    ASSERT_LE(integer.Range({{"s", {8, 100}}}).min, static_cast<int64_t>(*value)) << text;
    ASSERT_GE(integer.Range({{"s", {8, 100}}}).max, static_cast<int64_t>(*value)) << text;
  }
}

// A random expression in a, b and c, and its value computed on the side.
class RandomExpression {
 public:
  explicit RandomExpression(unsigned seed) : random_(seed) {
    for (int64_t& v : values_) v = 1 + Pick(9);
  }
  int64_t value(std::string_view symbol) const { return values_[symbol[0] - 'a']; }

  // nullopt: it divides by zero somewhere.
  std::pair<std::string, std::optional<int64_t>> Make(int depth) {
    if (depth == 0 || Pick(5) == 0) {
      if (Pick(2) == 0) {
        const int literal = Pick(5);
        return {std::to_string(literal), literal};
      }
      const int symbol = Pick(3);
      return {std::string(1, static_cast<char>('a' + symbol)), values_[symbol]};
    }
    const auto [x, a] = Make(depth - 1);
    const auto [y, b] = Make(depth - 1);
    const bool known = a.has_value() && b.has_value();
    const int64_t m = a.value_or(0), n = b.value_or(0);
    const auto result = [&](std::string text, bool defined, auto compute) {
      return std::make_pair(std::move(text),
                            known && defined ? std::optional<int64_t>(compute()) : std::nullopt);
    };
    const auto call = [&, &x = x, &y = y](std::string name) {
      return name + "(" + x + ", " + y + ")";
    };
    const auto floor = [](int64_t p, int64_t q) {
      return static_cast<int64_t>(std::floor(static_cast<double>(p) / static_cast<double>(q)));
    };
    switch (Pick(9)) {
      case 0:
        return result(call("FloorDiv"), n != 0, [&] { return floor(m, n); });
      case 1:
        return result(call("PythonMod"), n != 0, [&] { return m - n * floor(m, n); });
      case 2:
        return result(call("Mod"), n != 0, [&] { return m % n; });
      case 3:
        return result(call("Max"), true, [&] { return std::max(m, n); });
      case 4:
        return result(call("Min"), true, [&] { return std::min(m, n); });
      case 5:
        return result(call("CeilDiv"), n != 0, [&] { return -floor(-m, n); });
      case 6:
        return result("(" + x + " + " + y + ")", true, [&] { return m + n; });
      case 7:
        return result("(" + x + " - " + y + ")", true, [&] { return m - n; });
      default:
        return result("(" + x + ")*(" + y + ")", true, [&] { return m * n; });
    }
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::mt19937 random_;
  int64_t values_[3];
};

TEST(SymExprTest, NormalisingKeepsValuesAndStaysInRange) {
  const unsigned first = static_cast<unsigned>(TestSeed());
  for (unsigned seed = first; seed != first + 5000; ++seed) {
    RandomExpression random(seed);
    const auto [text, want] = random.Make(4);
    const SymExpr e = Parse(text);
    ASSERT_EQ(Parse(e.ToString()), e) << text << " prints as " << e.ToString();
    if (!want.has_value()) continue;
    const auto symbol = [&](std::string_view name) -> std::optional<int64_t> {
      return random.value(name);
    };
    const auto literal = [&](std::string_view name) -> std::optional<SymExpr> {
      return SymExpr(random.value(name));
    };
    ASSERT_EQ(e.EvaluateInt(symbol), *want)
        << "seed " << seed << ": " << text << " became " << e.ToString();
    ASSERT_EQ(e.Substitute(literal), SymExpr(*want)) << "seed " << seed << ": " << text;
    const SymRange range = e.Range({{"a", {1, 9}}, {"b", {1, 9}}, {"c", {1, 9}}});
    ASSERT_LE(range.min, *want) << "seed " << seed << ": " << text;
    ASSERT_GE(range.max, *want) << "seed " << seed << ": " << text;
  }
}

// "x0 + x1 + …", `count` symbols.
std::string SumOf(std::string_view x, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat(x, i));
  return absl::StrJoin(names, " + ");
}

TEST(SymExprTest, ReadsBackProductsThatAreTooLongToExpand) {
  // The square alone would be expanded; as a factor of this product it is not.
  const std::string six = SumOf("a", 6), ten = SumOf("b", 10);
  for (const std::string& text :
       {absl::StrCat("(", six, ")*(", six, ")*(", ten, ")"),
        absl::StrCat("-2*c*(", six, ")**2*(", ten, ")"), absl::StrCat("(", six, ")**-2*c"),
        absl::StrCat("c - (", six, ")**2*(", ten, ")"), absl::StrCat("(", six, ")**0*c"),
        absl::StrCat("c/(", six, ")**2"), absl::StrCat("~(", six, ")**2*(", ten, ")")}) {
    const SymExpr e = Parse(text);
    EXPECT_EQ(Parse(e.ToString()), e) << text;
  }
  EXPECT_EQ(Parse(absl::StrCat("(", six, ")*(", six, ")*(", ten, ")")),
            Parse(absl::StrCat("(", ten, ")*(", six, ")**2")));
}

TEST(SymExprTest, ExpandsWhatIsLeftOfALongProduct) {
  const std::string a = SumOf("a", 17), b = SumOf("b", 17);
  const SymExpr product = Parse(absl::StrCat("c*(", a, ")*(", b, ") + d"));
  const SymExpr inverse = Parse(absl::StrCat("(", a, ")**-1"));
  const SymExpr e = product * inverse;
  EXPECT_EQ(e, Parse(absl::StrCat("c*(", b, ")")) + SymExpr::Symbol("d") * inverse);
  EXPECT_EQ(Parse(e.ToString()), e);
}

TEST(SymExprTest, SumsOfMoreTermsThanAreExpandedStayFactors) {
  const std::string x = absl::StrCat("(", SumOf("x", 300), ")"),
                    y = absl::StrCat("(", SumOf("y", 200), ")");
  for (const std::string& text : {x + "**4", x + "*" + y, y + "*" + x}) {
    const SymExpr e = Parse(text);
    EXPECT_LT(e.ToString().size(), 2 * text.size());
    EXPECT_EQ(Parse(e.ToString()), e);
  }
  // One alone is no more than it was.
  EXPECT_EQ(Parse("2*" + x).arguments().size(), 300u);
}

TEST(SymExprTest, SizeStaysBounded) {
  const SymExpr a = SymExpr::Symbol("a"), b = SymExpr::Symbol("b"), c = SymExpr::Symbol("c");
  SymExpr product = a + b + c + 1;
  for (int i = 0; i < 64; ++i) product = product * product;
  EXPECT_LT(product.ToString().size(), size_t{100000});
  SymExpr deep = a;
  for (int i = 0; i < 1000; ++i) deep = FloorDiv(deep + 1, b) * c;
  EXPECT_EQ(deep.EvaluateInt([](std::string_view) { return std::optional<int64_t>(1); }),
            std::nullopt);
  SymExpr wide = a;
  for (int i = 0; i < 64; ++i) wide = SymMax(wide * b, wide + c);
  EXPECT_EQ(wide, wide);
}

TEST(SymExprTest, TextStaysShortEnoughToBeRead) {
  // 56 terms, most of them of three names.
  const std::string cube = absl::StrCat("(", SumOf(std::string(600, 'x'), 6), ")**3");
  // A symbol whose quotes are longer as text than in memory.
  const std::string quotes = absl::StrCat("Symbol(\"", std::string(40000, '\''), "\")");
  for (const std::string& text : {cube, absl::StrCat(cube, " + s0"), quotes}) {
    const std::string printed = Text(text);
    EXPECT_LE(printed.size(), size_t{64} << 10);
    EXPECT_EQ(Text(printed), printed);
  }
  EXPECT_EQ(Text(cube), "Opaque()");
}

TEST(SymExprTest, KnowsWhatKindOfValueItIs) {
  using K = SymExpr::ValueKind;
  EXPECT_EQ(Parse("s + 1").value_kind(), K::kInt);
  EXPECT_EQ(Parse("IntTrueDiv(s, 2)*3").value_kind(), K::kFloat);
  EXPECT_EQ(Parse("zuf3").value_kind(), K::kFloat);
  EXPECT_EQ(Parse("s > 1").value_kind(), K::kBool);
  EXPECT_EQ(Parse("Where(s > 1, 0.5, s)").value_kind(), K::kFloat);
}

TEST(SymExprTest, OpaquesAreSortedAlikeWhereverTheyAre) {
  // One of two orders is not that of their places in memory.
  const SymExpr a = SymExpr::Float(std::nan("")), b = SymExpr::Float(std::nan(""));
  const SymExpr s = SymExpr::Symbol("s0");
  EXPECT_EQ((a + 2 * b).ToString(), "Opaque() + 2*Opaque()");
  EXPECT_EQ((b + 2 * a).ToString(), "Opaque() + 2*Opaque()");
  EXPECT_EQ((2 * a + b).ToString(), "2*Opaque() + Opaque()");
  EXPECT_EQ((2 * b + a).ToString(), "2*Opaque() + Opaque()");
  EXPECT_EQ((a * s + 2 * b * s).ToString(), (b * s + 2 * a * s).ToString());
  EXPECT_EQ(SymMax(a + 1, b + 2).ToString(), SymMax(b + 1, a + 2).ToString());
  for (const char* text : {"Opaque()**(-1)*Opaque()", "Opaque()*Opaque()**(-1)",
                           "2*Opaque()**2*Opaque()*Opaque()**3 + Opaque()**2*Opaque()"}) {
    EXPECT_EQ(Text(text), text);
  }
  EXPECT_FALSE(a == b);
  EXPECT_EQ(a + s, s + a);
  EXPECT_EQ(a - a, SymExpr(0));
}

TEST(SymExprTest, CollectsSymbolsOnce) {
  std::vector<std::string> symbols;
  Parse("s1*s0 + FloorDiv(s1, u3)").CollectSymbols(symbols);
  EXPECT_EQ(symbols, (std::vector<std::string>{"s0", "s1", "u3"}));
  Parse("s2 - s0 + a").CollectSymbols(symbols);
  EXPECT_EQ(symbols, (std::vector<std::string>{"a", "s0", "s1", "s2", "u3"}));
  SymExpr(3).CollectSymbols(symbols);
  EXPECT_EQ(symbols.size(), 5u);
}

TEST(SymExprTest, RefusesWhatIsNoExpression) {
  for (std::string_view text :
       {"", "(", "s0 +", "s0)", "f(s0", "1..2", "99999999999999999999", "s0 $ 1", "Symbol(3)",
        "Symbol('')", "'s0'", "Integer(x)", "Rational(s0, 2)", "Rational(1, 0)", "nan", "f(a=)"}) {
    EXPECT_THAT(ParseSymExpr(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  // Functions that are known, with arguments that they don't have.
  for (std::string_view text :
       {"Max()", "Min()", "Max(ger=True)", "Not()", "Not(s0, s1)", "Pow(s0)", "PowByNatural()",
        "Rational(1)", "Rational()", "FloorDiv(FloorDiv(s0), 2)", "FloorDiv(s0, 2, 3)",
        "StrictLessThan(s0)", "Where(s0, 1)", "ModularIndexing(s0, 2)", "2*Pow(s0)", "floor()"}) {
    EXPECT_THAT(ParseSymExpr(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             ::testing::HasSubstr("expected other arguments of")))
        << text;
  }
  EXPECT_OK(ParseSymExpr("And()"));
  EXPECT_OK(ParseSymExpr("unknown()"));
  EXPECT_THAT(ParseSymExpr(std::string(100000, '(')), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseSymExpr(std::string(60000, '(')), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(ParseSymExpr(std::string(60000, '-') + "1").ok());
  std::string power = "2";
  for (int i = 0; i < 5000; ++i) power += "**2";
  EXPECT_THAT(ParseSymExpr(power), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SymExprTest, LongTextIsReadQuickly) {
  std::string sum = "a", quotient = "s", product = "(a+b)";
  for (int i = 0; i < 6000; ++i) sum += "+a" + std::to_string(i);
  for (int i = 0; i < 9000; ++i) quotient += "//a";
  for (int i = 0; i < 9000; ++i) product += "*(a+b)";
  EXPECT_TRUE(ParseSymExpr(sum).ok());
  EXPECT_TRUE(ParseSymExpr(quotient).ok());
  EXPECT_TRUE(ParseSymExpr(product).ok());
}

TEST(SymExprTest, ErrorsShowControlCharactersAsText) {
  EXPECT_THAT(ParseSymExpr("s0 + \x1b[2J"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("\\x1b[2J")));
}

}  // namespace
}  // namespace belay::exir
