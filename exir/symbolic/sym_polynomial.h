// Private to the implementation of SymExpr: expressions as sums of products, their normal form.
#ifndef BELAY_EXIR_SYMBOLIC_SYM_POLYNOMIAL_H_
#define BELAY_EXIR_SYMBOLIC_SYM_POLYNOMIAL_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "exir/symbolic/sym_expr.h"
#include "exir/symbolic/sym_number.h"

namespace belay::exir {

// base ** exponent. The base is neither a number nor a product nor a power with an integer
// exponent.
struct SymFactor {
  SymExpr base;
  int64_t exponent;  // not 0
};
// Sorted by base, without duplicate bases.
using SymMonomial = std::vector<SymFactor>;
struct SymTerm {
  SymNumber coefficient;
  SymMonomial monomial;  // empty: a constant
};
// Sorted, without duplicate monomials, the constant last. Empty: 0.
using SymPolynomial = std::vector<SymTerm>;

// Value of a constant expression.
std::optional<SymNumber> NumberOf(const SymExpr& e);
SymExpr FromNumber(const SymNumber& n);

SymPolynomial ToPolynomial(const SymExpr& e);
// Returns an Opaque for nullopt.
SymExpr FromPolynomial(const std::optional<SymPolynomial>& p);

// Sorts, merges equal monomials, drops zeros. nullopt on overflow.
std::optional<SymPolynomial> Normalize(std::vector<SymTerm> terms);
// Multiply or divide the coefficients and the monomials factor by factor. nullopt on overflow.
// Precondition of the division: the exponents of b are greater than 0, as those of integers are.
std::optional<SymTerm> MultiplyTerms(const SymTerm& a, const SymTerm& b);
std::optional<SymTerm> DivideTerms(const SymTerm& a, const SymTerm& b);

SymExpr Sum(absl::Span<const SymExpr> summands);
// Product of all base ** exponent, for any expressions; expanded as sym_expr.h describes.
SymExpr Product(std::vector<SymFactor> factors);

// Returns q with q * divisor = dividend as polynomials with integer coefficients, if a bounded
// search finds one. Precondition: both are integers wherever they have a value.
std::optional<SymPolynomial> ExactQuotient(const SymPolynomial& dividend,
                                           const SymPolynomial& divisor);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_POLYNOMIAL_H_
