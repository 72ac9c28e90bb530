// SymExpr::Evaluate… (sym_evaluate.cc), and the evaluation of functions on numbers (sym_number.cc).
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "exir/symbolic/sym_expr.h"
#include "exir/symbolic/sym_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

std::optional<int64_t> NoSymbols(std::string_view) { return std::nullopt; }

TEST(SymEvaluateTest, ModuloFollowsTheSignsOfItsDefinition) {
  EXPECT_EQ(Parse("PythonMod(-7, 3)"), SymExpr(2));
  EXPECT_EQ(Parse("PythonMod(7, -3)"), SymExpr(-2));
  EXPECT_EQ(Parse("Mod(-7, 3)"), SymExpr(-1));
  EXPECT_EQ(Parse("Mod(7, 3)"), Parse("PythonMod(7, 3)"));
}

TEST(SymEvaluateTest, EvaluatesEveryHead) {
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

TEST(SymEvaluateTest, WhereEvaluatesOnlyChosenBranch) {
  const auto only_s = [](std::string_view name) {
    return name == "s" ? std::optional<int64_t>(3) : std::nullopt;
  };
  EXPECT_EQ(Parse("Where(s > 2, s, t)").EvaluateInt(only_s), 3);
  EXPECT_EQ(Parse("Where(s > 3, t, s + 1)").EvaluateInt(only_s), 4);
  EXPECT_EQ(Parse("Where(s > 2, t, s)").EvaluateInt(only_s), std::nullopt);
  EXPECT_EQ(Parse("Where(t > 2, s, s + 1)").EvaluateInt(only_s), std::nullopt);
}

TEST(SymEvaluateTest, UndefinedValuesEvaluateToNothing) {
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

// Checks symbols and constants; the latter are folded on construction.
TEST(SymEvaluateTest, FunctionsOfIntegersAreExact) {
  struct Case {
    std::string_view text;
    int64_t s, t;
    std::optional<int64_t> want;
  };
  const std::optional<int64_t> none;
  for (const auto& [text, s, t, want] : std::initializer_list<Case>{
           {"FloorDiv(s, t)", -7, 2, -4},
           {"FloorDiv(s, t)", 7, -2, -4},
           {"FloorDiv(s, t)", -8, 2, -4},
           {"FloorDiv(s, t)", INT64_MIN, -1, none},
           {"FloorDiv(s, t)", 1, 0, none},
           {"CeilDiv(s, t)", 6, 3, 2},
           {"CeilDiv(s, t)", -7, 2, -3},
           {"CeilDiv(s, t)", 7, 0, none},
           {"CeilDiv(s, t)", INT64_MAX, 2, int64_t{1} << 62},
           {"Mod(s, t)", -7, 3, -1},
           {"Mod(s, t)", INT64_MIN, -1, 0},
           {"Mod(s, t)", 7, 0, none},
           {"PythonMod(s, t)", -7, 3, 2},
           {"PythonMod(s, t)", INT64_MIN, -1, 0},
           {"PythonMod(s, t)", 7, 0, none},
           {"ModularIndexing(s, t, 3)", 11, 2, 2},
           {"ModularIndexing(s, 2, t)", 11, -3, -1},
           {"ModularIndexing(s, t, 3)", 11, 0, none},
           {"ModularIndexing(s, 2, t)", 11, 0, none},
           {"LShift(s, t)", 3, 2, 12},
           {"LShift(s, t)", -1, 63, INT64_MIN},
           {"LShift(s, t)", 3, 63, none},
           {"LShift(s, t)", 3, -1, none},
           {"RShift(s, t)", -5, 1, -3},
           {"RShift(s, t)", -5, 100, -1},
           {"BitwiseFn_bitwise_and(s, t)", 6, 3, 2},
           {"BitwiseFn_bitwise_or(s, t)", 5, 2, 7},
           {"BitwiseFn_bitwise_or(s, t)", -8, 3, -5},
           {"Abs(s - t)", 2, 7, 5},
           {"Abs(s)", INT64_MIN, 0, none},
           {"Pow(s, t)", 3, 4, 81},
           {"Pow(s, t)", 3000000000, 2, 9000000000000000000},
           {"Pow(s, t)", 3000000000, 3, none},
           {"Pow(s, t)", INT64_MIN, 1, INT64_MIN},
           {"Pow(s, t)", 2, 64, none},
           {"Pow(s, t)", 1, INT64_MAX, 1},
           {"Pow(s, t)", 1, -5, 1},
           {"Pow(s, t)", 1, INT64_MIN, none},
           {"Pow(s, t)", 0, -1, none},
           {"Pow(s, t)", 2, -1, none},  // 1/2 is not an integer
           {"Pow(s, t)", INT64_MIN, -1, none},
           {"Max(s, t)", 2, 7, 7},
           {"Min(s, t)", 2, 7, 2},
           {"Min(s, t)", 7, 2, 2},
           {"Where(s, t, 9)", 1, 5, 5},
           {"Where(s, t, 9)", -1, 5, 5},
           {"Where(s, t, 9)", 0, 5, 9},
       }) {
    const SymExpr e = Parse(text);
    const auto value = [s = s, t = t](std::string_view name) -> std::optional<int64_t> {
      return name == "s" ? s : t;
    };
    EXPECT_EQ(e.EvaluateInt(value), want) << text << " of " << s << " and " << t;
    const SymExpr folded =
        e.Substitute([&](std::string_view name) { return std::optional<SymExpr>(*value(name)); });
    EXPECT_EQ(folded.EvaluateInt(&NoSymbols), want) << text << " of " << s << " and " << t;
  }
}

TEST(SymEvaluateTest, FractionsAreRoundedExactly) {
  struct Case {
    std::string_view text;
    int64_t s, want;
  };
  for (const auto& [text, s, want] : std::initializer_list<Case>{
           {"FloorToInt(s/2)", 7, 3},
           {"FloorToInt(s/2)", -7, -4},
           {"CeilToInt(s/2)", 7, 4},
           {"CeilToInt(s/2)", -7, -3},
           {"CeilToInt(s/2)", 8, 4},
           {"TruncToInt(s/2)", 7, 3},
           {"TruncToInt(s/2)", -7, -3},
           {"RoundToInt(s/2)", 8, 4},
           // Half to even, as in Python.
           {"RoundToInt(s/2)", 5, 2},
           {"RoundToInt(s/2)", 7, 4},
           {"RoundToInt(s/2)", -5, -2},
           {"RoundToInt(s/2)", -7, -4},
           {"RoundToInt(s/3)", 4, 1},
           {"RoundToInt(s/3)", 5, 2},
           {"RoundToInt(s/3)", -4, -1},
           {"RoundToInt(s/3)", INT64_MIN, -3074457345618258603},
           {"RoundToInt(s/3)", -5, -2},
           // Numbers that are not representable as double.
           {"FloorToInt(s/2)", INT64_MAX, 4611686018427387903},
           {"CeilToInt(s/2)", INT64_MAX, 4611686018427387904},
           {"TruncToInt(s/2)", INT64_MAX, 4611686018427387903},
           {"RoundToInt(s/3)", 9223372036854775805, 3074457345618258602},
       }) {
    const SymExpr e = Parse(text);
    EXPECT_EQ(e.EvaluateInt([s = s](std::string_view) { return std::optional<int64_t>(s); }), want)
        << text << " of " << s;
    EXPECT_EQ(e.Substitute([s = s](std::string_view) { return std::optional<SymExpr>(s); }),
              SymExpr(want))
        << text << " of " << s;
  }
}

TEST(SymEvaluateTest, FloatsAreComputedAsPythonDoes) {
  for (const auto& [text, want] : std::initializer_list<std::pair<std::string_view, double>>{
           {"FloorDiv(7, 2.0)", 3},
           {"FloorDiv(-0.5, 2)", -1},
           {"FloorDiv(Rational(7, 2), 2)", 1},
           {"RoundDecimal(2.675, 2)", 2.67},
           {"RoundDecimal(1234.0, -2)", 1200},
           {"RoundDecimal(1250.0, -2)", 1200},
           {"RoundDecimal(inf, 2)", HUGE_VAL},
           {"RoundDecimal(1.5, 300)", 1.5},
           {"Abs(-0.5)", 0.5},
           {"Abs(0.5)", 0.5},
           {"Abs(Rational(-1, 3))", 1.0 / 3},
           {"FloatPow(2, -1)", 0.5},
           {"Pow(2.5, 2)", 6.25},
           {"Pow(2, 0.5)", std::sqrt(2.0)},
           {"Pow(4.0, -1)", 0.25},
           {"IntTrueDiv(1, 3)", 1.0 / 3},
           {"TruncToFloat(-2.5)", -2},
           {"Max(0.5, 1)", 1},
           {"Min(0.5, Rational(1, 3))", 1.0 / 3},
           {"0.5 + Rational(1, 4)", 0.75},
           {"0.5*Rational(1, 4)", 0.125},
       }) {
    EXPECT_EQ(Parse(text).EvaluateFloat(&NoSymbols), want) << text;
  }
  for (const auto& [text, want] : std::initializer_list<std::pair<std::string_view, int64_t>>{
           {"FloorToInt(-0.5)", -1},
           {"CeilToInt(-0.5)", 0},
           {"TruncToInt(-1.5)", -1},
           {"RoundToInt(2.5)", 2},
           {"RoundToInt(-3.5)", -4},
       }) {
    EXPECT_EQ(Parse(text).EvaluateInt(&NoSymbols), want) << text;
  }
}

TEST(SymEvaluateTest, FunctionsHaveNoValueOutsideTheirDomain) {
  for (const std::string_view text :
       {// Not of fractions or floats.
        "LShift(Rational(1, 2), 1)", "LShift(1, 0.5)", "Mod(0.5, 1)", "Mod(1, 0.5)",
        "ModularIndexing(0.5, 1, 1)", "ModularIndexing(1, 0.5, 1)", "ModularIndexing(1, 1, 0.5)",
        "BitwiseFn_bitwise_and(0.5, 1)", "BitwiseFn_bitwise_and(1, 0.5)",
        "BitwiseFn_bitwise_or(0.5, 1)", "BitwiseFn_bitwise_or(1, 0.5)", "RoundDecimal(1.5, 0.5)",
        // Division by 0 in all forms.
        "FloorDiv(1, 0.0)", "FloorDiv(0.5, 0)", "IntTrueDiv(1, 0)", "FloatTrueDiv(1.0, 0.0)",
        // NaN, and beyond int64.
        "OpaqueUnaryFn_sqrt(-1)", "FloatPow(-1.0, 0.5)", "inf - inf", "0.0*inf", "FloorToInt(inf)",
        "CeilToInt(1e300)", "RoundToInt(-1e300)", "RoundDecimal(1.5, 301)",
        "RoundDecimal(1.5, -301)"}) {
    const SymExpr e = Parse(text);
    EXPECT_EQ(e.EvaluateFloat(&NoSymbols), std::nullopt) << text;
    EXPECT_EQ(e.EvaluateInt(&NoSymbols), std::nullopt) << text;
    EXPECT_EQ(e.EvaluateBool(&NoSymbols), std::nullopt) << text;
  }
  // Unknown operands decide nothing, however many there are.
  EXPECT_EQ(Parse("And(u > 1, v > 1)").EvaluateBool(&NoSymbols), std::nullopt);
  EXPECT_EQ(Parse("Or(u > 1, v > 1)").EvaluateBool(&NoSymbols), std::nullopt);
  for (const std::string_view text : {"s*t", "s + t"}) {
    EXPECT_EQ(
        Parse(text).EvaluateInt([](std::string_view) { return std::optional<int64_t>(INT64_MAX); }),
        std::nullopt)
        << text;
  }
  // The same with symbols.
  for (const std::string_view text :
       {"IntTrueDiv(1, s)", "FloorDiv(0.5, s)", "FloorDiv(1, ToFloat(s))", "Mystery(s)",
        "Where(FloorDiv(1, s), 1, 2)", "And(FloorDiv(1, s) > 0, s == 0)", "s**(-1)"}) {
    EXPECT_EQ(Parse(text).EvaluateFloat([](std::string_view) { return std::optional<int64_t>(0); }),
              std::nullopt)
        << text;
  }
}

TEST(SymEvaluateTest, OverflowingFractionsHaveNoValue) {
  for (const std::string_view text :
       {"Rational(9223372036854775807, 2) + Rational(1, 3)",
        "Rational(1, 3) + Rational(9223372036854775807, 2)",
        "Rational(1, 4000000000000000000) + Rational(1, 3000000000000000001)",
        "9223372036854775807 + 1", "Rational(9223372036854775807, 2)*3",
        "Rational(1, 4000000000000000000)*Rational(1, 3000000000000000001)",
        "(-9223372036854775808)**(-1)", "2**(-9223372036854775808)", "0**(-1)"}) {
    EXPECT_EQ(Parse(text).ToString(), "Opaque()") << text;
  }
  for (const auto& [text, want] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"Rational(6, -4)", "Rational(-3, 2)"},
           {"Rational(0, -3)", "0"},
           {"Rational(-9223372036854775808, 1)", "-9223372036854775808"},
           {"Rational(-9223372036854775808, -2)", "4611686018427387904"},
           {"Rational(1, 3)*3", "1"},
           {"Rational(2, 3)*Rational(3, 2)", "1"},
           {"Rational(9223372036854775807, 3)*3", "9223372036854775807"}}) {
    EXPECT_EQ(Parse(text).ToString(), want) << text;
  }
}

TEST(SymEvaluateTest, AndAndOrAcceptNumbers) {
  for (const auto& [text, want] : std::initializer_list<std::pair<std::string_view, bool>>{
           {"And(true, true)", true},
           {"And(true, false)", false},
           {"And(false, true)", false},
           {"And(2, -1)", true},
           {"And(2, 0)", false},
           {"And(0.5, true)", true},
           {"Or(false, true)", true},
           {"Or(true, false)", true},
           {"Or(0, 0.0)", false},
           {"Or(0, 3)", true},
           {"And()", true},
           {"Or()", false},
           {"Not(0)", true},
           {"Not(2)", false},
           {"Where(false, 1, 0)", false},
           {"Where(true, 1, 0)", true},
           {"Where(0.0, 1, 0)", false},
           {"s", true},
           {"And(s, s > 1)", true},
           {"Or(s == 1, s - 7)", false},
           {"true", true},
           {"Where(s > 1, true, s < 1)", true},
       }) {
    EXPECT_EQ(Parse(text).EvaluateBool([](std::string_view) { return std::optional<int64_t>(7); }),
              want)
        << text;
  }
}

}  // namespace
}  // namespace belay::exir
