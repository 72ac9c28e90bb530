#include "exir/symbolic/sym_expr.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "exir/symbolic/sym_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::exir {
namespace {

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

TEST(SymExprTest, PrintsExpressionsThatParseBack) {
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

// A random expression in a, b and c, with its independently computed value.
class RandomExpression {
 public:
  explicit RandomExpression(unsigned seed) : random_(seed) {
    for (int64_t& v : values_) v = 1 + Pick(9);
  }
  int64_t value(std::string_view symbol) const { return values_[symbol[0] - 'a']; }

  // nullopt: contains a division by zero.
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

TEST(SymExprTest, NormalizingKeepsValuesAndStaysInRange) {
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

// Returns "x0 + x1 + …" with `count` symbols.
std::string SumOf(std::string_view x, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat(x, i));
  return absl::StrJoin(names, " + ");
}

TEST(SymExprTest, ParsesProductsTooLongToExpand) {
  // By itself the square would be expanded; as a factor of this product it is not.
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

TEST(SymExprTest, ExpandsRemainderOfLongProduct) {
  const std::string a = SumOf("a", 17), b = SumOf("b", 17);
  const SymExpr product = Parse(absl::StrCat("c*(", a, ")*(", b, ") + d"));
  const SymExpr inverse = Parse(absl::StrCat("(", a, ")**-1"));
  const SymExpr e = product * inverse;
  EXPECT_EQ(e, Parse(absl::StrCat("c*(", b, ")")) + SymExpr::Symbol("d") * inverse);
  EXPECT_EQ(Parse(e.ToString()), e);
}

TEST(SymExprTest, LongSumsStayFactors) {
  const std::string x = absl::StrCat("(", SumOf("x", 300), ")"),
                    y = absl::StrCat("(", SumOf("y", 200), ")");
  for (const std::string& text : {x + "**4", x + "*" + y, y + "*" + x}) {
    const SymExpr e = Parse(text);
    EXPECT_LT(e.ToString().size(), 2 * text.size());
    EXPECT_EQ(Parse(e.ToString()), e);
  }
  // A single sum times a constant keeps its number of terms.
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

TEST(SymExprTest, StringLengthStaysParsable) {
  // 56 terms, most of them with three names.
  const std::string cube = absl::StrCat("(", SumOf(std::string(600, 'x'), 6), ")**3");
  // A symbol whose quotes are longer when printed than in memory.
  const std::string quotes = absl::StrCat("Symbol(\"", std::string(40000, '\''), "\")");
  for (const std::string& text : {cube, absl::StrCat(cube, " + s0"), quotes}) {
    const std::string printed = Text(text);
    EXPECT_LE(printed.size(), size_t{64} << 10);
    EXPECT_EQ(Text(printed), printed);
  }
  EXPECT_EQ(Text(cube), "Opaque()");
}

TEST(SymExprTest, KnowsValueKind) {
  using K = SymExpr::ValueKind;
  EXPECT_EQ(Parse("s + 1").value_kind(), K::kInt);
  EXPECT_EQ(Parse("IntTrueDiv(s, 2)*3").value_kind(), K::kFloat);
  EXPECT_EQ(Parse("zuf3").value_kind(), K::kFloat);
  EXPECT_EQ(Parse("s > 1").value_kind(), K::kBool);
  EXPECT_EQ(Parse("Where(s > 1, 0.5, s)").value_kind(), K::kFloat);
  EXPECT_EQ(Parse("Where(s > 1, t > 1, t > 2)").value_kind(), K::kBool);
  EXPECT_EQ(Parse("Where(s > 1, t > 1, t)").value_kind(), K::kInt);
  EXPECT_EQ(Parse("Where(s > 1, t, t > 1)").value_kind(), K::kInt);
  EXPECT_EQ(Parse("Max(t > 1, s > 1)").value_kind(), K::kInt);
}

TEST(SymExprTest, SortsOpaquesDeterministically) {
  // One of the two orders differs from the order of addresses.
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

TEST(SymExprTest, OrdersByStructure) {
  // Numbers, truth values, symbols, products, functions, sums; then by components.
  const std::string_view strings[] = {"-inf", "-2",    "Rational(-1, 2)",
                                      "0",    "0.5",   "1",
                                      "1.0",  "false", "true",
                                      "a",    "b",     "2*a",
                                      "a*b",  "f(a)",  "f(a, b)",
                                      "f(b)", "g(a)",  "a + b",
                                      "a + 2"};
  std::vector<SymExpr> e;
  for (const std::string_view text : strings) e.push_back(Parse(text));
  for (size_t i = 0; i < e.size(); ++i) {
    for (size_t j = 0; j < e.size(); ++j) {
      EXPECT_EQ(e[i] == e[j], i == j) << strings[i] << " and " << strings[j];
      EXPECT_FALSE(e[i] < e[j] && e[j] < e[i]) << strings[i] << " and " << strings[j];
      EXPECT_TRUE(i == j || e[i] < e[j] || e[j] < e[i]) << strings[i] << " and " << strings[j];
    }
  }
  for (const auto& [first, second] :
       std::initializer_list<std::pair<const char*, const char*>>{{"1", "1.0"},
                                                                  {"1.0", "true"},
                                                                  {"false", "true"},
                                                                  {"true", "a"},
                                                                  {"b", "2*a"},
                                                                  {"a*b", "f(a)"},
                                                                  {"f(a)", "f(a, b)"},
                                                                  {"f(a, b)", "f(b)"},
                                                                  {"g(a)", "a + b"}}) {
    EXPECT_TRUE(Parse(first) < Parse(second)) << first << " and " << second;
  }
}

TEST(SymExprTest, TooManyNodesBecomeOpaque) {
  // Short strings for each argument.
  const auto call = [](size_t count) {
    return absl::StrCat("f(", absl::StrJoin(std::vector<std::string>(count, "a"), ","), ")");
  };
  EXPECT_EQ(Parse(call(8191)).arguments().size(), 8191u);
  EXPECT_EQ(Text(call(8192)), "Opaque()");
}

TEST(SymExprTest, SubstituteKeepsOtherSymbols) {
  const auto b = [](std::string_view name) -> std::optional<SymExpr> {
    return name == "s" ? std::optional<SymExpr>(SymExpr::Symbol("b")) : std::nullopt;
  };
  for (const auto& [text, want] : std::initializer_list<std::pair<const char*, const char*>>{
           {"Where(s > 1, true, t > 1)", "Where(Gt(b, 1), true, Gt(t, 1))"},
           {"s*t + 0.5", "b*t + 0.5"},
           {"Mystery(s, Opaque(), 2)", "Mystery(b, Opaque(), 2)"},
           {"FloorDiv(t, 2)", "FloorDiv(t, 2)"},
           {"Opaque()", "Opaque()"}}) {
    EXPECT_EQ(Parse(text).Substitute(b).ToString(), want) << text;
  }
}

TEST(SymExprTest, OnlySymbolsAndFunctionsHaveNames) {
  for (const auto& [text, want] :
       std::initializer_list<std::pair<const char*, const char*>>{{"3", ""},
                                                                  {"0.5", ""},
                                                                  {"true", ""},
                                                                  {"s", "s"},
                                                                  {"s + 1", ""},
                                                                  {"2*s", ""},
                                                                  {"f(s)", "f"}}) {
    EXPECT_EQ(Parse(text).name(), want) << text;
  }
  EXPECT_EQ(SymExpr::Symbol("").ToString(), "Symbol('')");
}

}  // namespace
}  // namespace belay::exir
