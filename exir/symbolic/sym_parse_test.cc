// ParseSymExpr (sym_parse.cc).
#include <cmath>
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

TEST(SymParseTest, ReadsSreprAndInfixAlike) {
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

TEST(SymParseTest, RejectsInvalidExpressions) {
  for (std::string_view text :
       {"", "(", "s0 +", "s0)", "f(s0", "1..2", "99999999999999999999", "s0 $ 1", "Symbol(3)",
        "Symbol('')", "'s0'", "Integer(x)", "Rational(s0, 2)", "Rational(1, 0)", "nan", "f(a=)"}) {
    EXPECT_THAT(ParseSymExpr(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
  // Known functions with invalid arguments.
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

TEST(SymParseTest, RejectsLongerStrings) {
  const size_t most = 64 << 10;
  EXPECT_OK(ParseSymExpr(std::string(most - 1, ' ') + "s"));
  EXPECT_THAT(ParseSymExpr(std::string(most, ' ') + "s"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("65537 bytes: expected at most 65536")));
}

TEST(SymParseTest, ParsesLongStringsQuickly) {
  std::string sum = "a", quotient = "s", product = "(a+b)";
  for (int i = 0; i < 6000; ++i) sum += "+a" + std::to_string(i);
  for (int i = 0; i < 9000; ++i) quotient += "//a";
  for (int i = 0; i < 9000; ++i) product += "*(a+b)";
  EXPECT_TRUE(ParseSymExpr(sum).ok());
  EXPECT_TRUE(ParseSymExpr(quotient).ok());
  EXPECT_TRUE(ParseSymExpr(product).ok());
}

TEST(SymParseTest, ErrorsEscapeControlCharacters) {
  EXPECT_THAT(ParseSymExpr("s0 + \x1b[2J"),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("\\x1b[2J")));
}

TEST(SymParseTest, PrecedenceMatchesPython) {
  for (const auto& [text, want] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"s << 2", "LShift(s, 2)"},
           {"s >> 1 << 2", "LShift(RShift(s, 1), 2)"},
           {"s << 1 + 1", "LShift(s, 2)"},
           {"s << 2 < t", "Lt(LShift(s, 2), t)"},
           {"(s > 1) | (t > 1)", "Or(Gt(s, 1), Gt(t, 1))"},
           {"(s | 8) + (s & 7 & t)",
            "BitwiseFn_bitwise_and(BitwiseFn_bitwise_and(s, 7), t) + BitwiseFn_bitwise_or(s, 8)"},
           {"(s > 1) | (t > 1) & (u > 1)", "Or(And(Gt(t, 1), Gt(u, 1)), Gt(s, 1))"},
           {"s > 1 or t > 1 and u > 1", "Or(And(Gt(t, 1), Gt(u, 1)), Gt(s, 1))"},
           {"not not s > 1", "Gt(s, 1)"},
           {"not s > 1 and t > 1", "And(Gt(t, 1), Le(s, 1))"},
           {"s//-t", "FloorDiv(s, -t)"},
           {"s//(a + b)**2", "FloorDiv(s, a**2 + 2*a*b + b**2)"},
           {"s%4*2", "2*PythonMod(s, 4)"},
           {"+-+s", "-s"},
           {"~s", "Not(s)"},
           {"~~s", "s"},
           {"~-s", "Not(-s)"},
           {"-~(s > 1)", "Not(-Gt(s, 1))"},
           {"(a + b)**c", "Pow(a + b, c)"},
           {"2**-1", "Rational(1, 2)"},
           {"2**s**2", "Pow(2, s**2)"},
           {"Mystery(a==b)", "Mystery(Eq(b, a))"},
       }) {
    EXPECT_EQ(Text(text), want) << text;
  }
}

TEST(SymParseTest, KeywordsEndAtWordBoundary) {
  for (const auto& [text, want] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"nota + not1", "not1 + nota"},
           {"andy*order", "andy*order"},
           {"True", "true"},
           {"False", "false"},
           {"oo", "inf"},
           {"int_oo", "inf"},
           {"_x", "_x"},
           {"x.y.z", "z"},
           {"Dummy('d0')", "d0"},
           {"Symbol(\"s 0\")", "Symbol('s 0')"},
           {"Symbol('a\\\\b')", "Symbol('a\\\\b')"},
           {"Symbol('9a')", "Symbol('9a')"},
       }) {
    EXPECT_EQ(Text(text), want) << text;
  }
}

TEST(SymParseTest, ReadsAllNumberNotations) {
  for (const auto& [text, want] : std::initializer_list<std::pair<std::string_view, SymExpr>>{
           {"1e5", SymExpr::Float(1e5)},
           {"1E5", SymExpr::Float(1e5)},
           {"1e+5", SymExpr::Float(1e5)},
           {"1E-3", SymExpr::Float(1e-3)},
           {".5", SymExpr::Float(0.5)},
           {"1e5-1", SymExpr::Float(99999)},
           {"1-1", SymExpr(0)},
           {"2+1", SymExpr(3)},
           {"Float(0.5)", SymExpr::Float(0.5)},
           {"Float(0.5, precision=53)", SymExpr::Float(0.5)},
           {"Float(\"0.5\", precision='53')", SymExpr::Float(0.5)},
           {"Float('0.5', note=\"a, b)\", precision=53)", SymExpr::Float(0.5)},
           {"Integer(12 )", SymExpr(12)},
           {"Integer('-12')", SymExpr(-12)},
       }) {
    EXPECT_EQ(Parse(text), want) << text;
  }
}

TEST(SymParseTest, ErrorsReportPositionAndExpectation) {
  for (const auto& [text, want] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"s andb", "position 2: expected the end, got 'andb'"},
           {"s or2", "position 2: expected the end, got 'or2'"},
           {"s.2", "position 1: expected the end, got '.2'"},
           {"s << )", "position 5: expected an expression, got ')'"},
           {"s / )", "position 4: expected an expression, got ')'"},
           {"s // )", "expected an expression, got ')'"},
           {"s | ", "expected an expression, got the end"},
           {"s & ", "expected an expression, got the end"},
           {"s and ", "expected an expression, got the end"},
           {"s < ", "expected an expression, got the end"},
           {"2 ** )", "expected an expression, got ')'"},
           {"(s", "expected ')', got the end"},
           {"1.5.2", "expected a number, got '1.5.2'"},
           {"1e", "expected a number, got '1e'"},
           {"9223372036854775808", "expected an integer of 64 bits"},
           {"and", "expected an expression, got the end"},
           {"nan", "expected a number"},
           {"Symbol('abc", "expected the end of the string"},
           {"Symbol('abc\\", "expected the end of the string"},
           {"Symbol('a' b)", "expected ')', got 'b)'"},
           {"Symbol(s)", "expected a string, got 's)'"},
           {"Symbol('')", "expected a symbol's name"},
           {"Mystery(s t)", "expected ')', got 't)'"},
           {"Mystery(s, t='x", "expected the end of the string"},
           {"Mystery(s, t=", "expected ')'"},
           {"Mystery(s, t=)", "expected an expression"},
           {"Mystery(s, )", ""},
           {"Float('0.5", "expected the end of the string"},
           {"Float('')", "expected a number instead of ''"},
           {"Float(0.5x)", "expected a number instead of '0.5x'"},
           {"Float('1e999x')", "expected a number instead of '1e999x'"},
           {"Integer()", "expected a number instead of ''"},
           {"Integer(12x)", "expected a number instead of '12x'"},
           {"Integer(9223372036854775808)", "expected a number instead of '9223372036854775808'"},
           {"Integer(12", "expected ')', got the end"},
           {"Integer(1, 2)", "expected ')', got '2)'"},
           {"Rational(0.5, 2)", "expected a fraction before this"},
           {"Rational(1, 0.5)", "expected a fraction before this"},
           {"Rational(1, -9223372036854775808)", "expected a fraction before this"},
           {"Rational(-9223372036854775808, -1)", "expected a fraction before this"},
       }) {
    if (want.empty()) {
      EXPECT_OK(ParseSymExpr(text)) << text;
      continue;
    }
    EXPECT_THAT(ParseSymExpr(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             ::testing::HasSubstr(std::string(want))))
        << text;
  }
}

}  // namespace
}  // namespace belay::exir
