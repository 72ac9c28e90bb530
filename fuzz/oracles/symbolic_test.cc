#include "fuzz/oracles/symbolic.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/random.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/testing.h"

namespace belay::fuzz {
namespace {

using exir::SymExpr;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kLast = std::numeric_limits<int64_t>::max();

struct Head {
  std::string_view name;
  size_t min_arguments, max_arguments;
};
// docs/pt2-format.md §10, and further functions of infix strings and older programs.
constexpr Head kHeads[] = {
    {"Add", 1, 3},
    {"Mul", 1, 3},
    {"Pow", 2, 2},
    {"PowByNatural", 2, 2},
    {"FloatPow", 2, 2},
    {"Rational", 2, 2},
    {"Identity", 1, 1},
    {"Abs", 1, 1},
    {"Max", 1, 3},
    {"Min", 1, 3},
    {"FloorDiv", 2, 2},
    {"CleanDiv", 2, 2},
    {"CeilDiv", 2, 2},
    {"IntTrueDiv", 2, 2},
    {"FloatTrueDiv", 2, 2},
    {"Mod", 2, 2},
    {"PythonMod", 2, 2},
    {"ModularIndexing", 3, 3},
    {"LShift", 2, 2},
    {"RShift", 2, 2},
    {"BitwiseFn_bitwise_and", 2, 2},
    {"BitwiseFn_bitwise_or", 2, 2},
    {"Equality", 2, 2},
    {"Unequality", 2, 2},
    {"StrictLessThan", 2, 2},
    {"LessThan", 2, 2},
    {"StrictGreaterThan", 2, 2},
    {"GreaterThan", 2, 2},
    {"And", 0, 3},
    {"Or", 0, 3},
    {"Not", 1, 1},
    {"Where", 3, 3},
    {"CeilToInt", 1, 1},
    {"FloorToInt", 1, 1},
    {"RoundToInt", 1, 1},
    {"TruncToInt", 1, 1},
    {"TruncToFloat", 1, 1},
    {"RoundDecimal", 2, 2},
    {"ToFloat", 1, 1},
    {"OpaqueUnaryFn_sqrt", 1, 1},
    {"IsNonOverlappingAndDenseIndicator", 1, 3},
    {"unknown_function", 0, 3},
};

std::vector<SymExpr> Operands() {
  std::vector<SymExpr> operands = {
      SymExpr(0),
      SymExpr(1),
      SymExpr(-1),
      SymExpr(2),
      SymExpr(-3),
      SymExpr(63),
      SymExpr(kLast),
      SymExpr(kLeast),
      SymExpr::Float(0.0),
      SymExpr::Float(-0.0),
      SymExpr::Float(3.0),
      SymExpr::Float(-2.5),
      SymExpr::Float(1e300),
      SymExpr::Float(std::numeric_limits<double>::infinity()),
      SymExpr::Function("Rational", {SymExpr(1), SymExpr(2)}),
      SymExpr::Bool(true),
      SymExpr::Bool(false),
      SymExpr::Symbol("s0"),
      SymExpr::Symbol("u1"),
      SymExpr::Symbol("zuf2"),
  };
  const SymExpr s = operands[operands.size() - 3], u = operands[operands.size() - 2];
  operands.push_back(s + 1);
  operands.push_back(s * 2 + u);
  operands.push_back(s * u);
  operands.push_back(SymExpr::Function("StrictLessThan", {s, u}));
  operands.push_back(SymExpr::Function("ToFloat", {s}));
  operands.push_back(SymExpr::Function("FloorDiv", {s, SymExpr(2)}));
  return operands;
}

// As parsed from a file; an error if invalid (a "Rational" that is not a fraction).
absl::StatusOr<SymExpr> Call(std::string_view name, const std::vector<SymExpr>& arguments) {
  std::string text = absl::StrCat(name, "(");
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", arguments[i].ToString());
  }
  return exir::ParseSymExpr(text + ")");
}

void ExpectHolds(std::string_view name, const std::vector<SymExpr>& arguments) {
  const absl::StatusOr<SymExpr> expression = Call(name, arguments);
  if (expression.ok()) EXPECT_OK(CheckSymExpr(*expression)) << name;
}

TEST(SymbolicTest, HoldsForEveryFunctionOfFewOperands) {
  const std::vector<SymExpr> operands = Operands();
  for (const Head& head : kHeads) {
    for (const SymExpr& a : operands) {
      if (head.min_arguments <= 1) ExpectHolds(head.name, {a});
      if (head.min_arguments > 2 || head.max_arguments < 2) continue;
      for (const SymExpr& b : operands) ExpectHolds(head.name, {a, b});
    }
  }
}

TEST(SymbolicTest, HoldsForFunctionsOfFunctions) {
  Random random(static_cast<uint32_t>(TestSeed()));
  const std::vector<SymExpr> operands = Operands();
  std::vector<SymExpr> made = operands;
  constexpr size_t kKept = 200;
  for (int i = 0; i < 20'000; ++i) {
    const Head& head = kHeads[random.Below(std::size(kHeads))];
    const size_t count =
        head.min_arguments + random.Below(head.max_arguments - head.min_arguments + 1);
    std::vector<SymExpr> arguments;
    for (size_t a = 0; a < count; ++a) {
      const std::vector<SymExpr>& from = random.OneIn(2) ? operands : made;
      arguments.push_back(from[random.Below(from.size())]);
    }
    const absl::StatusOr<SymExpr> called = Call(head.name, arguments);
    if (!called.ok()) continue;
    SymExpr expression = *called;
    ASSERT_OK(CheckSymExpr(expression));
    if (expression.ToString().size() > 150) continue;
    if (made.size() < kKept) {
      made.push_back(std::move(expression));
    } else {
      made[random.Below(kKept)] = std::move(expression);
    }
  }
}

}  // namespace
}  // namespace belay::fuzz
