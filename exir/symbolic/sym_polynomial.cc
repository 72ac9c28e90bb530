#include "exir/symbolic/sym_polynomial.h"

#include <algorithm>
#include <utility>

#include "exir/symbolic/sym_node.h"
#include "runtime/core/checked_math.h"

namespace belay::exir {
namespace {

using Kind = SymExpr::Kind;

constexpr size_t kMaxExpandedTerms = 256;
constexpr size_t kMaxDividendTerms = 64;
constexpr size_t kMaxDivisorTerms = 8;

// Orders higher powers and longer products first, the constant last: s0**2 + s0 + 1.
int CompareMonomials(const SymMonomial& a, const SymMonomial& b, bool by_identity) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (const int c = SymExprAccess::Compare(a[i].base, b[i].base, by_identity); c != 0) return c;
    if (a[i].exponent != b[i].exponent) return a[i].exponent > b[i].exponent ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() > b.size() ? -1 : 1;
}

// Sorts and merges the factors; returns false on overflow.
bool NormalizeMonomial(SymMonomial& m) {
  SortStably(m, [](const SymFactor& a, const SymFactor& b) {
    return SymExprAccess::CompareForms(a.base, b.base);
  });
  size_t out = 0;
  for (size_t i = 0; i < m.size();) {
    int64_t exponent = 0;
    size_t j = i;
    for (; j < m.size() && SymExprAccess::Compare(m[i].base, m[j].base) == 0; ++j) {
      const std::optional<int64_t> sum = CheckedAdd(exponent, m[j].exponent);
      if (!sum.has_value()) return false;
      exponent = *sum;
    }
    if (exponent != 0) m[out++] = SymFactor{m[i].base, exponent};
    i = j;
  }
  m.erase(m.begin() + static_cast<std::ptrdiff_t>(out), m.end());
  return true;
}

SymFactor ToFactor(const SymExpr& e) {
  if (IsFunction(e, kPow)) {
    const std::optional<int64_t> exponent = e.arguments()[1].AsInt();
    if (exponent.has_value()) return {e.arguments()[0], *exponent};  // never 0: that folds to 1
  }
  return {e, 1};
}

// Numeric value of a constant in sums and products; truth values are 0 and 1.
std::optional<SymNumber> Summand(const SymExpr& e) {
  if (const std::optional<bool> b = e.AsBool()) return SymNumber::Int(*b ? 1 : 0);
  return NumberOf(e);
}

SymTerm ToTerm(const SymExpr& e) {
  if (const std::optional<SymNumber> n = Summand(e)) return {*n, {}};
  SymTerm term{SymNumber::Int(1), {}};
  if (e.kind() != Kind::kMul) {
    term.monomial.push_back(ToFactor(e));
    return term;
  }
  for (const SymExpr& argument : e.arguments()) {
    if (const std::optional<SymNumber> n = NumberOf(argument)) {
      term.coefficient = *n;  // a normalized product has at most one
    } else {
      term.monomial.push_back(ToFactor(argument));
    }
  }
  return term;
}

SymExpr FromFactor(const SymFactor& f) {
  return f.exponent == 1
             ? f.base
             : SymExprAccess::Make(Kind::kFunction, kPow, {f.base, SymExpr(f.exponent)});
}

SymExpr FromTerm(const SymTerm& term) {
  if (term.monomial.empty()) return FromNumber(term.coefficient);
  if (term.coefficient.is_one() && term.monomial.size() == 1) return FromFactor(term.monomial[0]);
  std::vector<SymExpr> factors;
  if (!term.coefficient.is_one()) factors.push_back(FromNumber(term.coefficient));
  for (const SymFactor& f : term.monomial) factors.push_back(FromFactor(f));
  return SymExprAccess::Make(Kind::kMul, "", std::move(factors));
}

std::optional<SymPolynomial> MultiplyPolynomials(const SymPolynomial& a, const SymPolynomial& b) {
  std::vector<SymTerm> terms;
  terms.reserve(a.size() * b.size());
  for (const SymTerm& x : a) {
    for (const SymTerm& y : b) {
      std::optional<SymTerm> term = MultiplyTerms(x, y);
      if (!term.has_value()) return std::nullopt;
      terms.push_back(*std::move(term));
    }
  }
  return Normalize(std::move(terms));
}

bool IsPositiveSum(const SymFactor& f) { return f.base.kind() == Kind::kAdd && f.exponent > 0; }

// Upper bound of the number of expanded terms; above the limit if it must not be expanded.
size_t ExpandedTerms(const SymMonomial& m) {
  size_t product = 1;
  bool has_sum = false, has_several = false;
  for (const SymFactor& f : m) {
    if (!IsPositiveSum(f)) continue;
    has_several = has_several || has_sum || f.exponent > 1;
    has_sum = true;
    const size_t n = f.base.arguments().size();
    for (int64_t e = 0; e < f.exponent && product <= kMaxExpandedTerms; ++e) product *= n;
  }
  // A single sum times a product has as many terms as the sum.
  return has_several ? product : 1;
}

// Whether a product of these factors has to be expanded.
bool Expands(const SymMonomial& m) {
  return std::any_of(m.begin(), m.end(), IsPositiveSum) && ExpandedTerms(m) <= kMaxExpandedTerms;
}

}  // namespace

std::optional<SymNumber> NumberOf(const SymExpr& e) {
  if (const std::optional<int64_t> i = e.AsInt()) return SymNumber::Int(*i);
  if (e.kind() == Kind::kFloat) return SymNumber::Real(*e.AsFloat());
  if (IsFunction(e, kRational)) {
    return SymNumber::Rational(*e.arguments()[0].AsInt(), *e.arguments()[1].AsInt());
  }
  return std::nullopt;
}

SymExpr FromNumber(const SymNumber& n) {
  if (n.is_float) return SymExpr::Float(n.real);
  if (n.den == 1) return SymExpr(n.num);
  return SymExprAccess::Make(Kind::kFunction, kRational, {SymExpr(n.num), SymExpr(n.den)});
}

SymPolynomial ToPolynomial(const SymExpr& e) {
  SymPolynomial p;
  if (e.kind() == Kind::kAdd) {
    for (const SymExpr& argument : e.arguments()) p.push_back(ToTerm(argument));
  } else if (e.AsInt() != 0) {
    p.push_back(ToTerm(e));
  }
  return p;
}

SymExpr FromPolynomial(const std::optional<SymPolynomial>& p) {
  if (!p.has_value()) return SymExprAccess::MakeOpaque();
  if (p->empty()) return SymExpr(0);
  std::vector<SymExpr> summands;
  bool expanded = false;
  for (const SymTerm& term : *p) {
    // Multiplying two terms may cancel a factor that prevented the expansion of others.
    if (Expands(term.monomial)) {
      std::vector<SymFactor> factors = term.monomial;
      factors.push_back({FromNumber(term.coefficient), 1});
      summands.push_back(Product(std::move(factors)));
      expanded = true;
    } else {
      summands.push_back(FromTerm(term));
    }
  }
  if (summands.size() == 1) return std::move(summands[0]);
  if (expanded) return Sum(summands);
  return SymExprAccess::Make(Kind::kAdd, "", std::move(summands));
}

std::optional<SymPolynomial> Normalize(std::vector<SymTerm> terms) {
  for (SymTerm& t : terms) {
    if (t.coefficient.is_float && t.coefficient.is_zero()) t.monomial.clear();  // 0.0 * s is 0.0
  }
  SortStably(terms, [](const SymTerm& a, const SymTerm& b) {
    return CompareMonomials(a.monomial, b.monomial, /*by_identity=*/false);
  });
  SymPolynomial result;
  for (size_t i = 0; i < terms.size();) {
    SymNumber coefficient = SymNumber::Int(0);
    size_t j = i;
    for (; j < terms.size() && CompareMonomials(terms[i].monomial, terms[j].monomial, true) == 0;
         ++j) {
      const std::optional<SymNumber> sum = Add(coefficient, terms[j].coefficient);
      if (!sum.has_value()) return std::nullopt;
      coefficient = *sum;
    }
    const bool keep = !coefficient.is_zero() || (coefficient.is_float && terms[i].monomial.empty());
    if (keep) result.push_back({coefficient, std::move(terms[i].monomial)});
    i = j;
  }
  return result;
}

std::optional<SymTerm> MultiplyTerms(const SymTerm& a, const SymTerm& b) {
  const std::optional<SymNumber> coefficient = Multiply(a.coefficient, b.coefficient);
  if (!coefficient.has_value()) return std::nullopt;
  SymTerm result{*coefficient, a.monomial};
  result.monomial.insert(result.monomial.end(), b.monomial.begin(), b.monomial.end());
  if (!NormalizeMonomial(result.monomial)) return std::nullopt;
  return result;
}

std::optional<SymTerm> DivideTerms(const SymTerm& a, const SymTerm& b) {
  const std::optional<SymNumber> inverse = Power(b.coefficient, -1);
  if (!inverse.has_value()) return std::nullopt;
  SymTerm divisor{*inverse, b.monomial};
  for (SymFactor& f : divisor.monomial) f.exponent = -f.exponent;
  return MultiplyTerms(a, divisor);
}

SymExpr Sum(absl::Span<const SymExpr> summands) {
  std::vector<SymTerm> terms;
  for (const SymExpr& e : summands) {
    SymPolynomial p = ToPolynomial(e);
    std::move(p.begin(), p.end(), std::back_inserter(terms));
  }
  return FromPolynomial(Normalize(std::move(terms)));
}

SymExpr Product(std::vector<SymFactor> factors) {
  SymTerm all{SymNumber::Int(1), {}};
  // Replace products and powers among the factors by their components; each step makes them
  // smaller.
  while (!factors.empty()) {
    const SymFactor f = std::move(factors.back());
    factors.pop_back();
    if (f.exponent == 0) continue;
    if (const std::optional<SymNumber> n = Summand(f.base)) {
      const std::optional<SymNumber> power = Power(*n, f.exponent);
      const std::optional<SymNumber> product =
          power ? Multiply(all.coefficient, *power) : std::nullopt;
      if (!product.has_value()) return SymExprAccess::MakeOpaque();
      all.coefficient = *product;
    } else if (f.base.kind() == Kind::kMul) {
      for (const SymExpr& argument : f.base.arguments()) factors.push_back({argument, f.exponent});
    } else if (const SymFactor inner = ToFactor(f.base); inner.exponent != 1) {
      const std::optional<int64_t> exponent = CheckedMul(inner.exponent, f.exponent);
      if (!exponent.has_value()) return SymExprAccess::MakeOpaque();
      factors.push_back({inner.base, *exponent});
    } else {
      all.monomial.push_back(f);
    }
  }
  if (all.coefficient.is_zero()) return FromNumber(all.coefficient);
  // Restore the given order, which Opaques keep.
  std::reverse(all.monomial.begin(), all.monomial.end());
  if (!NormalizeMonomial(all.monomial)) return SymExprAccess::MakeOpaque();
  if (ExpandedTerms(all.monomial) > kMaxExpandedTerms) return FromTerm(all);

  std::vector<SymFactor> sums;
  SymTerm rest{all.coefficient, {}};
  for (SymFactor& f : all.monomial) {
    (IsPositiveSum(f) ? sums : rest.monomial).push_back(std::move(f));
  }
  std::optional<SymPolynomial> product = SymPolynomial{rest};
  for (const SymFactor& f : sums) {
    const SymPolynomial sum = ToPolynomial(f.base);
    for (int64_t e = 0; e < f.exponent && product.has_value(); ++e)
      product = MultiplyPolynomials(*product, sum);
  }
  return FromPolynomial(product);
}

std::optional<SymPolynomial> ExactQuotient(const SymPolynomial& dividend,
                                           const SymPolynomial& divisor) {
  if (divisor.empty() || divisor.size() > kMaxDivisorTerms || dividend.size() > kMaxDividendTerms)
    return std::nullopt;
  std::vector<SymTerm> quotient;
  SymPolynomial rest = dividend;
  // Each step removes the leading term. The term order does not guarantee termination, hence the
  // limit; a quotient that is found is correct in any order.
  for (size_t step = 0; !rest.empty(); ++step) {
    if (step == kMaxDividendTerms) return std::nullopt;
    std::optional<SymTerm> term = DivideTerms(rest.front(), divisor.front());
    if (!term.has_value() || !term->coefficient.is_int()) return std::nullopt;
    for (const SymFactor& f : term->monomial) {
      if (f.exponent < 0) return std::nullopt;
    }
    for (const SymTerm& d : divisor) {
      std::optional<SymTerm> product = MultiplyTerms(*term, d);
      const std::optional<SymNumber> negative =
          product ? Multiply(product->coefficient, SymNumber::Int(-1)) : std::nullopt;
      if (!negative.has_value()) return std::nullopt;
      product->coefficient = *negative;
      rest.push_back(*std::move(product));
    }
    std::optional<SymPolynomial> next = Normalize(std::move(rest));
    if (!next.has_value() || next->size() > 2 * kMaxDividendTerms) return std::nullopt;
    rest = *std::move(next);
    quotient.push_back(*std::move(term));
  }
  return Normalize(std::move(quotient));
}

}  // namespace belay::exir
