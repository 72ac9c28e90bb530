// SymExpr::Function: canonical names, constant folding, and exact simplifications.
#include <algorithm>
#include <utility>

#include "exir/symbolic/sym_expr.h"
#include "exir/symbolic/sym_node.h"
#include "exir/symbolic/sym_number.h"
#include "exir/symbolic/sym_polynomial.h"
#include "runtime/core/checked_math.h"

namespace belay::exir {
namespace {

using Kind = SymExpr::Kind;
using ValueKind = SymExpr::ValueKind;

constexpr std::pair<std::string_view, std::string_view> kSynonyms[] = {
    {"Equality", "Eq"},
    {"Unequality", "Ne"},
    {"StrictLessThan", "Lt"},
    {"LessThan", "Le"},
    {"StrictGreaterThan", "Gt"},
    {"GreaterThan", "Ge"},
    {"PowByNatural", "Pow"},
    {"ceiling", "CeilToInt"},
    {"floor", "FloorToInt"},
    {"sqrt", "OpaqueUnaryFn_sqrt"},
    {"CleanDiv", "FloorDiv"},  // asserts a remainder of 0
    // Names in guards, which are Python expressions.
    {"abs", "Abs"},
    {"ceil", "CeilToInt"},
    {"max", "Max"},
    {"min", "Min"},
    {"sym_float", "ToFloat"},
    {"sym_ite", "Where"},
    {"sym_max", "Max"},
    {"sym_min", "Min"},
    {"trunc", "TruncToInt"},
    {"_sym_sqrt", "OpaqueUnaryFn_sqrt"},
};

SymExpr Raw(std::string_view name, std::vector<SymExpr> arguments) {
  return SymExprAccess::Make(Kind::kFunction, name, std::move(arguments));
}

std::optional<SymValue> ValueOf(const SymExpr& e) {
  if (const std::optional<bool> b = e.AsBool()) return SymValue::Bool(*b);
  if (const std::optional<SymNumber> n = NumberOf(e)) return SymValue::Number(*n);
  return std::nullopt;
}

// Folds the call to a constant, if all arguments are constants in the function's domain.
std::optional<SymExpr> Fold(std::string_view name, const std::vector<SymExpr>& arguments) {
  std::vector<SymValue> values;
  for (const SymExpr& a : arguments) {
    const std::optional<SymValue> value = ValueOf(a);
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
  }
  const std::optional<SymValue> result = ApplySymFunction(name, values);
  if (!result.has_value()) return std::nullopt;
  return result->is_bool ? SymExpr::Bool(result->boolean) : FromNumber(result->number);
}

// Whether every value of the expression is an integer: no floats, fractions or negative powers.
bool IsIntegral(const SymExpr& e) {
  if (e.value_kind() != ValueKind::kInt || IsFunction(e, kRational) || IsOpaque(e)) return false;
  if (e.kind() == Kind::kAdd || e.kind() == Kind::kMul) {
    return std::all_of(e.arguments().begin(), e.arguments().end(), &IsIntegral);
  }
  if (IsFunction(e, kPow)) {
    const std::optional<int64_t> exponent = e.arguments()[1].AsInt();
    return exponent.has_value() && *exponent > 0 && IsIntegral(e.arguments()[0]);
  }
  return true;
}

// Simplifies a // d for d > 0: moves out the terms with coefficients divisible by d, reduces the
// rest.
SymExpr FloorDivByNumber(const SymExpr& a, int64_t d) {
  if (IsFunction(a, kFloorDiv) && a.arguments()[1].AsInt().has_value() &&
      *a.arguments()[1].AsInt() > 0) {
    const std::optional<int64_t> product = CheckedMul(*a.arguments()[1].AsInt(), d);
    if (product.has_value())
      return SymExpr::Function(kFloorDiv, {a.arguments()[0], SymExpr(*product)});
  }
  std::vector<SymExpr> out;
  std::vector<SymTerm> rest;
  int64_t divisor = d;
  int64_t common = d;
  for (SymTerm& term : ToPolynomial(a)) {
    const int64_t c = term.coefficient.num;
    if (c % d == 0) {
      term.coefficient.num = c / d;
      out.push_back(FromPolynomial(SymPolynomial{std::move(term)}));
      continue;
    }
    for (int64_t r = c % common; r != 0;) {  // common = gcd(common, c)
      r = r < 0 ? -r : r;
      const int64_t next = common % r;
      common = r;
      r = next;
    }
    rest.push_back(std::move(term));
  }
  if (rest.empty()) return Sum(out);  // otherwise d divides none: common < d
  // (4*s + 2*t + 1) // 4 = s + (2*t + 1) // 4: the constant term does not limit the common divisor
  // of the others.
  for (SymTerm& term : rest) term.coefficient.num /= common;
  divisor = d / common;
  const SymExpr numerator = FromPolynomial(SymPolynomial(std::move(rest)));
  if (common > 1 || !out.empty()) {
    // The rest may be a quotient itself. Each step has fewer terms or a smaller divisor, so this
    // terminates.
    out.push_back(FloorDivByNumber(numerator, divisor));
  } else if (const std::optional<SymExpr> folded = Fold(kFloorDiv, {numerator, SymExpr(divisor)})) {
    out.push_back(*folded);
  } else {
    out.push_back(Raw(kFloorDiv, {numerator, SymExpr(divisor)}));
  }
  return out.size() == 1 ? out[0] : Sum(out);
}

// Replaces y % d in a sum by y, which is congruent modulo d > 0, also inside of y.
SymExpr WithoutRemainders(const SymExpr& e, int64_t d) {
  std::vector<SymExpr> terms;
  for (SymTerm& term : ToPolynomial(e)) {
    const bool single = term.monomial.size() == 1 && term.monomial[0].exponent == 1;
    const SymExpr base = single ? term.monomial[0].base : SymExpr(0);
    if ((IsFunction(base, "Mod") || IsFunction(base, "PythonMod")) &&
        base.arguments()[1].AsInt() == d) {
      terms.push_back(FromNumber(term.coefficient) * WithoutRemainders(base.arguments()[0], d));
    } else {
      terms.push_back(FromPolynomial(SymPolynomial{std::move(term)}));
    }
  }
  return Sum(terms);
}

// Whether `e` is known to be a multiple of d > 0, as x + (d - x % d) % d is.
bool IsMultipleOf(const SymExpr& e, int64_t d) {
  const SymExpr congruent = WithoutRemainders(e, d);
  if (!IsIntegral(congruent)) return false;
  const SymPolynomial terms = ToPolynomial(congruent);
  return std::all_of(terms.begin(), terms.end(),
                     [&](const SymTerm& term) { return term.coefficient.num % d == 0; });
}

SymExpr FloorDivision(std::vector<SymExpr> x) {
  const SymExpr &a = x[0], &b = x[1];
  if (!IsIntegral(a) || !IsIntegral(b) || b.AsInt() == 0) return Raw(kFloorDiv, std::move(x));
  if (b.AsInt() == 1 || a.AsInt() == 0) return a;
  if (b.AsInt().has_value() && *b.AsInt() > 0) return FloorDivByNumber(a, *b.AsInt());
  if (const std::optional<SymPolynomial> q = ExactQuotient(ToPolynomial(a), ToPolynomial(b)))
    return FromPolynomial(q);
  // a // (a // d) = d for multiples of d.
  if (IsFunction(b, kFloorDiv) && b.arguments()[0] == a) {
    const std::optional<int64_t> d = b.arguments()[1].AsInt();
    if (d.has_value() && *d > 0 && IsMultipleOf(a, *d)) return *d;
  }
  return Raw(kFloorDiv, std::move(x));
}

// PythonMod and Mod.
SymExpr Modulo(std::string_view name, std::vector<SymExpr> x) {
  const SymExpr &a = x[0], &b = x[1];
  if (!IsIntegral(a) || !IsIntegral(b) || b.AsInt() == 0) return Raw(name, std::move(x));
  if (b.AsInt() == 1 || b.AsInt() == -1 || a.AsInt() == 0) return 0;
  if (ExactQuotient(ToPolynomial(a), ToPolynomial(b)).has_value()) return 0;
  if (name != "PythonMod" || !b.AsInt().has_value() || *b.AsInt() < 0)
    return Raw(name, std::move(x));
  std::vector<SymTerm> terms = ToPolynomial(a);
  for (SymTerm& term : terms) {
    int64_t r = term.coefficient.num % *b.AsInt();
    term.coefficient.num = r < 0 ? r + *b.AsInt() : r;
  }
  const SymExpr reduced = FromPolynomial(Normalize(std::move(terms)));
  if (const std::optional<SymExpr> folded = Fold(name, {reduced, b})) return *folded;
  return Raw(name, {reduced, b});
}

// Returns -1, 0 or 1 if a < b, a == b or a > b for all symbol values; nullopt if unknown.
std::optional<int> ConstantOrder(const SymExpr& a, const SymExpr& b) {
  if (a == b) return 0;
  if (a.value_kind() == ValueKind::kBool || b.value_kind() == ValueKind::kBool) return std::nullopt;
  const std::optional<SymNumber> left = NumberOf(a), right = NumberOf(b);
  if (left.has_value() && right.has_value()) return CompareNumbers(*left, *right);
  const SymNumber zero = SymNumber::Int(0);
  if (const std::optional<SymNumber> d = NumberOf(a - b)) return CompareNumbers(*d, zero);
  // Try both differences: INT64_MIN has no negation, so only one of them may be representable.
  if (const std::optional<SymNumber> d = NumberOf(b - a)) return CompareNumbers(zero, *d);
  return std::nullopt;
}

// Simplifies Max and Min: flat, sorted, without duplicates, without arguments that another one
// dominates by a constant.
SymExpr Extremum(std::string_view name, std::vector<SymExpr> x) {
  std::vector<SymExpr> flat;
  for (SymExpr& e : x) {
    if (IsFunction(e, name)) {
      flat.insert(flat.end(), e.arguments().begin(), e.arguments().end());
    } else {
      flat.push_back(std::move(e));
    }
  }
  SortStably(flat, SymExprAccess::CompareForms);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  constexpr size_t kMaxCompared = 8;  // pairwise
  if (flat.size() <= kMaxCompared) {
    const int wanted = name == "Max" ? 1 : -1;
    // Compare all pairs: if one argument dominates two others, the difference of these may exceed
    // int64.
    std::vector<bool> beaten(flat.size());
    for (size_t i = 0; i < flat.size(); ++i) {
      for (size_t j = i + 1; j < flat.size(); ++j) {
        if (const std::optional<int> order = ConstantOrder(flat[j], flat[i]))
          beaten[*order == wanted ? i : j] = true;
      }
    }
    std::vector<SymExpr> kept;
    for (size_t i = 0; i < flat.size(); ++i) {
      if (!beaten[i]) kept.push_back(std::move(flat[i]));
    }
    flat = std::move(kept);
  }
  if (flat.size() == 1) return flat[0];
  return Raw(name, std::move(flat));
}

// Simplifies And and Or: flat, sorted, without duplicates. `unit` is the neutral element, its
// opposite is absorbing. Precondition: not all arguments are constants.
SymExpr Junction(std::string_view name, std::vector<SymExpr> x) {
  const bool unit = name == "And";
  std::vector<SymExpr> flat;
  for (SymExpr& e : x) {
    if (IsFunction(e, name)) {
      flat.insert(flat.end(), e.arguments().begin(), e.arguments().end());
    } else if (!e.AsBool().has_value()) {
      flat.push_back(std::move(e));
    } else if (*e.AsBool() != unit) {
      return SymExpr::Bool(!unit);
    }
  }
  SortStably(flat, SymExprAccess::CompareForms);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.size() == 1 && flat[0].value_kind() == ValueKind::kBool) return flat[0];
  return Raw(name, std::move(flat));
}

constexpr std::pair<std::string_view, std::string_view> kNegations[] = {
    {"Eq", "Ne"}, {"Ge", "Lt"}, {"Gt", "Le"}, {"Le", "Gt"}, {"Lt", "Ge"}, {"Ne", "Eq"}};

SymExpr Negation(const SymExpr& e) {
  if (IsFunction(e, "Not") && e.arguments()[0].value_kind() == ValueKind::kBool)
    return e.arguments()[0];
  if (e.kind() == Kind::kFunction) {
    for (const auto& [relation, opposite] : kNegations) {
      if (e.name() == relation) {
        return SymExpr::Function(opposite,
                                 std::vector<SymExpr>(e.arguments().begin(), e.arguments().end()));
      }
    }
  }
  return Raw("Not", {e});
}

SymExpr Relation(std::string_view name, std::vector<SymExpr> x) {
  if (const std::optional<int> order = ConstantOrder(x[0], x[1])) {
    if (name == "Eq") return SymExpr::Bool(*order == 0);
    if (name == "Ne") return SymExpr::Bool(*order != 0);
    if (name == "Lt") return SymExpr::Bool(*order < 0);
    if (name == "Le") return SymExpr::Bool(*order <= 0);
    if (name == "Gt") return SymExpr::Bool(*order > 0);
    return SymExpr::Bool(*order >= 0);
  }
  if ((name == "Eq" || name == "Ne") && x[0] < x[1]) std::swap(x[0], x[1]);  // constants last
  return Raw(name, std::move(x));
}

SymExpr Choice(std::vector<SymExpr> x) {
  if (const std::optional<SymValue> condition = ValueOf(x[0]))
    return condition->boolean ? x[1] : x[2];
  if (x[1] == x[2]) return x[1];
  return Raw("Where", std::move(x));
}

// Piecewise((a, c), (b, d), (e, true)) -> Where(c, a, Where(d, b, e)). Returns nullopt if the last
// condition is not true: the value is undefined where no condition holds.
std::optional<SymExpr> Branches(const std::vector<SymExpr>& pairs) {
  for (const SymExpr& pair : pairs) {
    if (!IsFunction(pair, "ExprCondPair") || pair.arguments().size() != 2) return std::nullopt;
  }
  if (pairs.empty() || pairs.back().arguments()[1].AsBool() != true) return std::nullopt;
  SymExpr result = pairs.back().arguments()[0];
  for (size_t i = pairs.size() - 1; i-- > 0;) {
    result = SymExpr::Function("Where", {pairs[i].arguments()[1], pairs[i].arguments()[0], result});
  }
  return result;
}

// Rounding an integer is the identity.
SymExpr Rounding(std::string_view name, SymExpr e) {
  if (IsIntegral(e)) return e;
  return Raw(name, {std::move(e)});
}

}  // namespace

std::string_view CanonicalSymName(std::string_view name) {
  for (const auto& [synonym, canonical] : kSynonyms) {
    if (name == synonym) return canonical;
  }
  return name;
}

SymExpr SymExpr::Function(std::string_view name, std::vector<SymExpr> x) {
  name = CanonicalSymName(name);
  if (name == "Add") return Sum(x);
  if (name == "Mul") {
    std::vector<SymFactor> factors;
    for (SymExpr& e : x) factors.push_back({std::move(e), 1});
    return Product(std::move(factors));
  }
  if (name == "Identity" && x.size() == 1) return x[0];
  if (name == kOpaque) return SymExprAccess::MakeOpaque();
  // Users of known functions rely on the number of arguments.
  const std::optional<SymArity> arity = ArityOfSymFunction(name);
  if (arity.has_value() && (x.size() < arity->min || x.size() > arity->max))
    return SymExprAccess::MakeOpaque();
  if (std::optional<SymExpr> constant = Fold(name, x)) return *std::move(constant);
  if (name == kRational) return SymExprAccess::MakeOpaque();
  if (name == kPow && x[1].AsInt().has_value()) return Product({{x[0], *x[1].AsInt()}});
  if (name == kFloorDiv) return FloorDivision(std::move(x));
  if (name == "PythonMod" || name == "Mod") return Modulo(name, std::move(x));
  if (name == "Max" || name == "Min") return Extremum(name, std::move(x));
  if (name == "And" || name == "Or") return Junction(name, std::move(x));
  if (name == "Not") return Negation(x[0]);
  if (name == "Where") return Choice(std::move(x));
  if (name == "Piecewise") {
    if (std::optional<SymExpr> branches = Branches(x)) return *std::move(branches);
  }
  for (const auto& [relation, opposite] : kNegations) {
    if (name == relation) return Relation(name, std::move(x));
  }
  for (std::string_view rounding : {"CeilToInt", "FloorToInt", "RoundToInt", "TruncToInt"}) {
    if (name == rounding) return Rounding(name, std::move(x[0]));
  }
  if (name == "CeilDiv" && IsIntegral(x[0]) && IsIntegral(x[1])) {
    if (x[1].AsInt() == 1) return x[0];
    if (const std::optional<SymPolynomial> q =
            ExactQuotient(ToPolynomial(x[0]), ToPolynomial(x[1]))) {
      return FromPolynomial(q);
    }
  }
  return Raw(name, std::move(x));
}

}  // namespace belay::exir
