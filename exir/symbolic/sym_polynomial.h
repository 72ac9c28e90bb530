// Private to the implementation of SymExpr: expressions as sums of products, which is how they are
// normalized.
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
// Sorted by base, each base once.
using SymMonomial = std::vector<SymFactor>;
struct SymTerm {
  SymNumber coefficient;
  SymMonomial monomial;  // empty: a number
};
// Sorted, each monomial once, the number last. Empty: 0.
using SymPolynomial = std::vector<SymTerm>;

// The number that the expression is.
std::optional<SymNumber> NumberOf(const SymExpr& e);
SymExpr FromNumber(const SymNumber& n);

SymPolynomial ToPolynomial(const SymExpr& e);
// An Opaque for nullopt.
SymExpr FromPolynomial(const std::optional<SymPolynomial>& p);

// Sorts, merges equal monomials, drops zeros. nullopt on overflow.
std::optional<SymPolynomial> Normalize(std::vector<SymTerm> terms);
// The coefficient and the monomial are multiplied or divided factor by factor. nullopt on overflow.
// Precondition of the division: the exponents of b are greater than 0, as those of integers are.
std::optional<SymTerm> MultiplyTerms(const SymTerm& a, const SymTerm& b);
std::optional<SymTerm> DivideTerms(const SymTerm& a, const SymTerm& b);

SymExpr Sum(absl::Span<const SymExpr> summands);
// The product of base ** exponent, of any expressions; expanded as sym_expr.h says.
SymExpr Product(std::vector<SymFactor> factors);

// q with q * divisor = dividend as polynomials with integer coefficients, when there is one that a
// short search finds. Precondition: both are integers wherever they have a value.
std::optional<SymPolynomial> ExactQuotient(const SymPolynomial& dividend,
                                           const SymPolynomial& divisor);

}  // namespace belay::exir

#endif  // BELAY_EXIR_SYMBOLIC_SYM_POLYNOMIAL_H_
