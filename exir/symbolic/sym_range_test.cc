// SymExpr::Range (sym_range.cc).
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "exir/symbolic/sym_expr.h"
#include "exir/symbolic/sym_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

constexpr int64_t kAbove = SymRange::kUnboundedAbove, kBelow = SymRange::kUnboundedBelow;
constexpr SymRange kEverything = {kBelow, kAbove};

TEST(SymRangeTest, RangesIncludeInt64Limits) {
  constexpr int64_t kMax = INT64_MAX, kMin = INT64_MIN;
  const SymRanges ranges = {{"s", {2, 10}}};
  EXPECT_EQ(Parse("9223372036854775807").Range(ranges), (SymRange{kMax, kMax}));
  const SymRange less = Parse("9223372036854775807 - s").Range(ranges);
  EXPECT_LE(less.min, kMax - 10);
  EXPECT_GE(less.max, kMax - 2);
  const SymRange more = Parse("s + -9223372036854775808").Range(ranges);
  EXPECT_LE(more.min, kMin + 2);
  EXPECT_GE(more.max, kMin + 10);
  // A sum that exceeds int64, and back.
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

TEST(SymRangeTest, RangesAreIntervals) {
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

// Values beyond int64 have INT64_MAX or INT64_MIN as their end.
TEST(SymRangeTest, InfiniteEndsDoNotDecideRelations) {
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

TEST(SymRangeTest, FloatRangesUseDoubleIntervals) {
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
  // A non-integer divisor may be between 0 and 1.
  EXPECT_EQ(range("FloorToInt(IntTrueDiv(-1, zf0))"), (SymRange{kNone, kInf}));
  EXPECT_EQ(range("CeilToInt(IntTrueDiv(4, s/64))"), (SymRange{3, 32}));
  EXPECT_EQ(range("RoundToInt(0.25*ToFloat(s))"), (SymRange{2, 25}));
  EXPECT_EQ(range("FloatTrueDiv(1.0, zf0)"), (SymRange{kNone, kInf}));
  // A divisor that is a whole number is at least 1, also as a float.
  EXPECT_EQ(range("CeilToInt(FloatTrueDiv(1.0, FloatTrueDiv(1.0, ToFloat(Mod(s, 5)))))").max, 4);
  EXPECT_EQ(range("CeilToInt(FloatTrueDiv(1.0, 0.5*ToFloat(Mod(s, 5))))"), (SymRange{kNone, kInf}));
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

// The double interval is tighter than the enclosing integers, which multiplication by 4 shows.
TEST(SymRangeTest, FloatFunctionsAreNotRoundedInBetween) {
  const SymRanges ranges = {{"s", {8, 100}}, {"t", {-3, 4}}, {"e", {1, 2}}, {"u", {2, 5000}}};
  const auto range = [&](std::string_view text) { return Parse(text).Range(ranges); };
  EXPECT_EQ(range("4*Max(0.5*ToFloat(t), 0.25)"), (SymRange{1, 8}));
  EXPECT_EQ(range("4*Min(0.5*ToFloat(t), 0.25)"), (SymRange{-6, 1}));
  EXPECT_EQ(range("4*Abs(0.25*ToFloat(t) - 2.0)"), (SymRange{4, 11}));
  EXPECT_EQ(range("4*Where(s > 50, 0.25, 0.75)"), (SymRange{1, 3}));
  EXPECT_EQ(range("Pow(0.5*ToFloat(s), e)"), (SymRange{4, 2500}));
  EXPECT_EQ(range("FloorToInt(0.25*ToFloat(t) + 0.5)"), (SymRange{-1, 1}));
  EXPECT_EQ(range("RoundToInt(0.25*ToFloat(t) + 0.5)"), (SymRange{0, 2}));
  EXPECT_EQ(range("CeilToInt(0.25*ToFloat(t) + 0.5)"), (SymRange{0, 2}));
  EXPECT_EQ(range("TruncToInt(0.25*ToFloat(t) + 0.5)"), (SymRange{0, 1}));
  // Integers are not converted to floats, which would not be exact.
  EXPECT_EQ(range("Abs(t)"), (SymRange{0, 4}));
  EXPECT_EQ(range("CeilToInt(Max(Pow(u, e), 9007199254740993))").min, 9007199254740993);
}

// An actual infinity is distinguished from an overflowed number.
TEST(SymRangeTest, InfiniteProductsAndQuotientsAreExact) {
  const SymRanges ranges = {{"s", {8, 100}}};
  const auto range = [&](std::string_view text) { return Parse(text).Range(ranges); };
  EXPECT_EQ(range("CeilToInt(FloatTrueDiv(1e308, ToFloat(s)*inf))"), (SymRange{0, 0}));
  EXPECT_EQ(range("CeilToInt(FloatTrueDiv(1e308, FloatTrueDiv(ToFloat(s)*inf, 2.0)))"),
            (SymRange{0, 0}));
  EXPECT_EQ(range("CeilToInt(FloatTrueDiv(1e308, 1e308*ToFloat(s)))"), (SymRange{0, 1}));
}

// An unknown end stays unknown after any addition; 0 times it is 0.
TEST(SymRangeTest, UnknownEndsStayUnknown) {
  const SymRanges ranges = {{"a", {1, kAbove}}, {"b", {-3, -1}}, {"c", {kBelow, 5}},
                            {"d", {2, 3}},      {"n", {-2, 0}},  {"z", {0, 0}},
                            {"y", {1, kAbove}}, {"x", {-3, -1}}};
  const auto range = [&](std::string_view text) { return Parse(text).Range(ranges); };
  EXPECT_EQ(range("a + b"), (SymRange{-2, kAbove}));
  EXPECT_EQ(range("y + x"), (SymRange{-2, kAbove}));
  EXPECT_EQ(range("c + d"), (SymRange{kBelow, 8}));
  EXPECT_EQ(range("n*y"), (SymRange{kBelow, 0}));
  EXPECT_EQ(range("a*n"), (SymRange{kBelow, 0}));
  EXPECT_EQ(range("a*z"), (SymRange{0, 0}));
}

TEST(SymRangeTest, BitwiseRangesFollowWidth) {
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

TEST(SymRangeTest, FloatsStayInTheirRanges) {
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

struct RangeCase {
  std::string_view text;
  SymRange range;
};

TEST(SymRangeTest, SumsAndProductsSaturate) {
  const SymRanges ranges = {{"s", {2, 10}}, {"t", {-3, 4}}, {"u", {1, kAbove}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"-9223372036854775807 - s", {kBelow, kBelow}},
           {"9223372036854775807 + s", {kAbove, kAbove}},
           {"-9223372036854775806*u - s", {kBelow, kBelow}},
           {"s*u", {2, kAbove}},
           {"t*u", {kBelow, kAbove}},
           {"s - u", {kBelow, 9}},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, PowersDependOnParity) {
  const SymRanges ranges = {{"s", {2, 10}}, {"t", {-3, 4}},     {"n", {-5, -2}},    {"i", {-1, 1}},
                            {"z", {0, 7}},  {"u", {1, kAbove}}, {"k", {kBelow, -2}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"t**3", {-27, 64}},
           {"t**2", {0, 16}},
           {"n**2", {4, 25}},
           {"n**3", {-125, -8}},
           {"k**2", {4, kAbove}},
           {"k**3", {kBelow, -8}},
           {"s**100", {kAbove, kAbove}},
           {"i**65", {-1, 1}},
           {"i**66", {0, 1}},
           {"n**65", {kBelow, kBelow}},
           // Of the inverse only the sign and the bound 1 are known.
           {"s**(-1)", {0, 1}},
           {"t**(-1)", kEverything},
           // A non-constant exponent.
           {"Pow(s, z)", {1, kAbove}},
           {"Pow(z, s)", kEverything},
           {"Pow(2, t)", {0, 16}},
           {"Pow(n, s)", kEverything},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, DivisorsAreNotZero) {
  const SymRanges ranges = {{"s", {2, 10}}, {"t", {-3, 4}}, {"z", {0, 0}},    {"n", {-10, -2}},
                            {"p", {0, 4}},  {"m", {-4, 0}}, {"none", {5, 3}}, {"u", {0, kAbove}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"FloorDiv(s, z)", kEverything},
           {"FloorDiv(s, t)", kEverything},
           {"FloorDiv(s, none)", kEverything},
           {"FloorDiv(s, p)", {0, 10}},
           {"FloorDiv(s, m)", {-10, -1}},
           {"FloorDiv(n, u)", {-10, -1}},
           {"CeilDiv(n, u)", {-10, 0}},
           {"CeilDiv(s, u)", {1, 10}},
           {"PythonMod(t, z)", kEverything},
           {"PythonMod(t, m)", kEverything},
           {"PythonMod(t, p)", {0, 3}},
           {"Mod(t, p)", {-3, 3}},
           {"Mod(s, p)", {0, 3}},
           {"ModularIndexing(s, 2, 3)", {0, 2}},
           {"ModularIndexing(s, 2, 100)", {1, 5}},
           {"TruncToInt(IntTrueDiv(s, p))", {0, 10}},
           {"TruncToInt(IntTrueDiv(s, m))", {-10, 0}},
           {"IntTrueDiv(s, z)", kEverything},
           {"IntTrueDiv(s, t)", kEverything},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, RelationsAreDecidedByDisjointIntervals) {
  const SymRanges ranges = {
      {"s", {2, 10}}, {"t", {-3, 4}}, {"three", {3, 3}}, {"trois", {3, 3}}, {"four", {4, 4}}};
  const SymRange yes = {1, 1}, no = {0, 0}, open = {0, 1};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"Eq(s, 20)", no},       {"Eq(s, -5)", no},
           {"Eq(s, t)", open},      {"Eq(three, trois)", yes},
           {"Eq(three, four)", no}, {"Eq(three, t)", open},
           {"Eq(t, three)", open},  {"Ne(three, trois)", no},
           {"Ne(s, 20)", yes},      {"Ne(s, t)", open},
           {"s < 11", yes},         {"s < 10", open},
           {"s < 2", no},           {"s < 3", open},
           {"s <= 10", yes},        {"s <= 9", open},
           {"s <= 1", no},          {"s <= 2", open},
           {"s > 1", yes},          {"s > 10", no},
           {"s >= 2", yes},         {"s >= 11", no},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

// Any nonzero number is true.
TEST(SymRangeTest, AndAndOrAcceptNumbers) {
  const SymRanges ranges = {{"s", {2, 10}}, {"t", {-3, 4}}, {"n", {-3, -1}}, {"z", {0, 0}},
                            {"y", {0, 0}},  {"u", {0, 4}},  {"v", {-4, 0}},  {"zf0", {0, 5}}};
  const SymRange yes = {1, 1}, no = {0, 0}, open = {0, 1};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"And(s, n)", yes},      {"And(s, z)", no},  {"And(s, t)", open}, {"And(s, u)", open},
           {"And(s, v)", open},     {"And(t, z)", no},  {"Or(t, s)", yes},   {"Or(t, n)", yes},
           {"Or(y, z)", no},        {"Or(t, z)", open}, {"Or(u, v)", open},  {"Not(t)", open},
           {"Not(u)", open},        {"Not(v)", open},   {"Not(s)", no},      {"Not(n)", no},
           {"Not(z)", yes},         {"Not(zf0)", open}, {"true", yes},       {"false", no},
           {"And(s > 1, t)", open},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, WhereUsesReachableBranches) {
  const SymRanges ranges = {
      {"s", {2, 10}}, {"t", {-3, 4}}, {"n", {-3, -1}}, {"z", {0, 0}}, {"k", {20, 30}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"Where(s, t, k)", {-3, 4}},
           {"Where(n, t, k)", {-3, 4}},
           {"Where(z, t, k)", {20, 30}},
           {"Where(t, s, k)", {2, 30}},
           {"Where(n, 0.5*ToFloat(s), 1e9)", {1, 5}},
           {"Where(z, 0.5*ToFloat(s), 1.5)", {1, 2}},
           {"Where(t, 0.5*ToFloat(s), 100.0)", {1, 100}},
           {"Where(t, s, true)", {1, 10}},
           // For integers and for floats.
           {"Max(z, n)", {0, 0}},
           {"Min(0.5*ToFloat(t), 0.25)", {-2, 1}},
           {"Max(0.5*ToFloat(t), 0.25)", {0, 2}},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, ShiftsMultiplyAndDivide) {
  const SymRanges ranges = {{"s", {2, 10}}, {"t", {-3, 4}},    {"n", {-10, -2}},
                            {"k", {1, 3}},  {"far", {63, 70}}, {"u", {0, kAbove}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"LShift(s, k)", {4, 80}},
           {"LShift(t, k)", {-24, 32}},
           {"LShift(s, t)", kEverything},
           {"LShift(s, far)", {kAbove, kAbove}},
           {"LShift(n, far)", {kBelow, kBelow}},
           {"LShift(s, u)", {2, kAbove}},
           {"RShift(s, k)", {0, 5}},
           {"RShift(n, k)", {-5, -1}},
           {"RShift(s, t)", kEverything},
           {"RShift(s, far)", {0, 0}},
           {"RShift(n, far)", {-1, -1}},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, BitwiseAndIsBoundedByNonnegativeOperand) {
  const SymRanges ranges = {
      {"s", {8, 100}}, {"t", {-3, 4}}, {"k", {kBelow, -1}}, {"u", {0, kAbove}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"BitwiseFn_bitwise_and(k, 7)", {0, 7}},
           {"BitwiseFn_bitwise_and(7, k)", {0, 7}},
           {"BitwiseFn_bitwise_and(k, t)", kEverything},
           {"BitwiseFn_bitwise_and(t, u)", {0, kAbove}},
           {"BitwiseFn_bitwise_or(k, 1)", kEverything},
           {"BitwiseFn_bitwise_or(s, t)", {-128, 127}},
           {"BitwiseFn_bitwise_or(u, s)", {8, kAbove}},
           {"BitwiseFn_bitwise_or(u, t)", kEverything},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, UnknownExpressionsAreUnbounded) {
  for (const std::string_view text : {"Mystery(s)", "Mystery(s, s)", "Mystery(s, s, s)", "Opaque()",
                                      "zf7", "RoundDecimal(ToFloat(s), -1)", "zf7 + inf"}) {
    EXPECT_EQ(Parse(text).Range({{"s", {2, 10}}}), kEverything) << text;
  }
  // Expressions without a value are unbounded: known functions with a wrong argument count, and
  // fractions that are not numbers.
  EXPECT_EQ(SymExpr::Function("Abs", {SymExpr(1), SymExpr(2)}).Range({}), kEverything);
  EXPECT_EQ(SymExpr::Function("Rational", {SymExpr::Symbol("s"), SymExpr(2)}).Range({}),
            kEverything);
  // Rounding an expression that is not known to be an integer on construction.
  EXPECT_EQ(Parse("TruncToInt(Pow(s, u))").Range({{"s", {2, 10}}}), (SymRange{1, kAbove}));
}

TEST(SymRangeTest, SumsAndProductsOfFloatsAreRoundedOutwards) {
  const SymRanges ranges = {{"s", {2, 10}},       {"t", {-3, 4}},
                            {"u", {1, kAbove}},   {"zf0", {0, 5}},
                            {"zf1", {2, 3}},      {"zf2", {int64_t{1} << 62, int64_t{1} << 62}},
                            {"zf3", {1, kAbove}}, {"zf4", {1, kAbove}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"ToFloat(u) + 0.5", {1, kAbove}},
           {"0.5*ToFloat(t) + zf3", {-1, kAbove}},
           {"zf0*zf1", {0, 15}},
           {"zf0*zf3", {0, kAbove}},
           {"zf3*zf4", {1, kAbove}},
           {"zf1*zf3", {2, kAbove}},
           // Overflow and underflow of doubles.
           {"1e300*zf2", {kAbove, kAbove}},
           {"-1e300*zf2", {kBelow, kBelow}},
           {"1e-300*ToFloat(s)", {0, 1}},
           {"-1e-300*ToFloat(s)", {-1, 0}},
           {"1e-300*zf1*zf1", {0, 1}},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, QuotientsOfFloatsAreRoundedOutwards) {
  const SymRanges ranges = {{"s", {2, 10}},
                            {"t", {-3, 4}},
                            {"z", {0, 0}},
                            {"u", {1, kAbove}},
                            {"zf2", {int64_t{1} << 62, int64_t{1} << 62}},
                            {"v", {1, kAbove}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"FloatTrueDiv(ToFloat(z), 2.0)", {0, 0}},
           {"FloatTrueDiv(1.0, ToFloat(u))", {0, 1}},
           {"FloatTrueDiv(ToFloat(u), 2.0)", {0, kAbove}},
           {"FloatTrueDiv(ToFloat(u), ToFloat(v))", {0, kAbove}},
           {"FloatTrueDiv(ToFloat(u), ToFloat(t))", kEverything},
           {"FloatTrueDiv(1e300*ToFloat(s), 1e-300)", {kAbove, kAbove}},
           {"FloatTrueDiv(ToFloat(s), 1e300)", {0, 1}},
           {"FloatTrueDiv(1e-300*ToFloat(s), 1e-300)", {1, 11}},
           {"FloorDiv(ToFloat(s), 4.0)", {0, 2}},
           {"FloorDiv(ToFloat(s), ToFloat(t))", kEverything},
           {"TruncToFloat(FloatTrueDiv(ToFloat(s), 4.0))", {0, 2}},
           {"TruncToFloat(FloatTrueDiv(ToFloat(t), 2.0))", {-1, 2}},
           {"RoundDecimal(ToFloat(s), 1)", {1, 11}},
           {"Mod(ToFloat(t), 2.5)", {-3, 3}},
           {"Mod(ToFloat(t), -2.5)", kEverything},
           {"PythonMod(ToFloat(t), ToFloat(t))", kEverything},
           {"PythonMod(ToFloat(t), 2.5)", {0, 3}},
           {"PythonMod(ToFloat(s), 20.0)", {0, 10}},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

TEST(SymRangeTest, FloatPowersUseEnds) {
  const SymRanges ranges = {
      {"s", {2, 10}}, {"t", {-3, 4}}, {"one", {1, 1}}, {"zf0", {0, 5}}, {"u", {1, kAbove}}};
  for (const auto& [text, want] : std::initializer_list<RangeCase>{
           {"FloatPow(ToFloat(u), 0.5)", {1, kAbove}},
           {"FloatPow(ToFloat(one), ToFloat(s))", {1, 1}},
           {"FloatPow(ToFloat(s), zf0)", {1, 100000}},
           {"FloatPow(ToFloat(s), ToFloat(u))", {2, kAbove}},
           {"FloatPow(ToFloat(s), -1.0)", {0, 1}},
           {"FloatPow(ToFloat(s), 20.0)", {1048576, kAbove}},
           {"FloatPow(zf0, -1.0)", {0, kAbove}},
           {"FloatPow(zf0, 2.0)", {0, 25}},
           {"FloatPow(ToFloat(t), zf0)", kEverything},
           {"FloatPow(ToFloat(t), -1.0)", kEverything},
           {"FloatPow(ToFloat(t), inf)", kEverything},
           {"FloatPow(ToFloat(t), 0.5)", kEverything},
           {"FloatPow(-1.0*ToFloat(s), 2.0)", {4, 100}},
           {"FloatPow(-1.0*ToFloat(s), 3.0)", {-1000, -8}},
           {"Pow(ToFloat(s), 2)", {4, 100}},
           {"Pow(ToFloat(t), 2)", {0, 16}},
       }) {
    EXPECT_EQ(Parse(text).Range(ranges), want) << text;
  }
}

}  // namespace
}  // namespace belay::exir
