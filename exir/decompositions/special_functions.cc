// Special functions: orthogonal polynomials, those of constant degree by their recurrences, and
// synonyms.
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"
#include "runtime/kernel_interface/orthogonal_polynomials.h"

namespace belay::exir {
namespace {

using Family = PolynomialFamily;

// Evaluates at x, or at 2 x - 1 if kShifted. A negative degree gives 0.
template <Family kFamily, bool kShifted = false>
std::vector<Argument> Polynomial(OpBuilder& b, const OpCall& c) {
  constexpr int64_t kMost = 256;  // each degree emits nodes
  const double given = c.Double("n");
  if (!b.ok()) return {};
  if (!(given < kMost)) {
    b.Unsupported(absl::StrCat("a polynomial of degree ", given, ", more than ", kMost - 1));
    return {};
  }
  return ComputedFloat(b, c["x"], [&](const Argument& whole) {
    const auto constant = [&](double value) {
      return b.Call("aten.full_like.default", {whole, value});
    };
    if (given <= -1) return constant(0);
    const int64_t degree = static_cast<int64_t>(given);
    if (degree == 0) return constant(1);
    constexpr PolynomialRecurrence kRecurrence = RecurrenceOf(kFamily);
    const Argument x = kShifted ? Sub(b, Mul(b, whole, 2.0), 1.0) : whole;
    Argument before = constant(1), last = Add(b, Mul(b, x, kRecurrence.slope), kRecurrence.start);
    for (int64_t k = 1; k < degree && b.ok(); ++k) {
      const auto [by_x, by_one, by_before, divisor] = kRecurrence.next(static_cast<double>(k));
      Argument factor = Mul(b, x, by_x / divisor);
      if (by_one != 0) factor = Add(b, factor, by_one / divisor);
      const Argument next = Sub(b, Mul(b, factor, last), Mul(b, before, by_before / divisor));
      before = last;
      last = next;
    }
    return last;
  });
}

// The degrees are a tensor `n`; the runtime's kernel evaluates the recurrence per element.
template <Family kFamily, bool kShifted = false>
std::vector<Argument> OfDegrees(OpBuilder& b, const OpCall& c) {
  Argument x = c["x"];
  if (b.ok() && !b.IsTensor(x)) {
    // A number does not widen the degrees' dtype, except from integers to float32.
    const DType degrees = b.dtype(c["n"]);
    const DType dtype = IsFloatingPoint(degrees)        ? degrees
                        : x.get_if<double>() != nullptr ? DType::kFloat32
                                                        : DType::kInt64;
    x = ScalarTensor(b, x, dtype);
  }
  if (kShifted) x = Sub(b, Mul(b, x, 2), 1);
  return {b.Call("special.polynomial.default", {x, c["n"], static_cast<int64_t>(kFamily)})};
}

constexpr Decomposition kDecompositions[] = {
    {"aten.special_airy_ai.default", Same<"special.airy_ai.default">},
    {"aten.special_chebyshev_polynomial_t.default", OfDegrees<Family::kChebyshevT>},
    {"aten.special_chebyshev_polynomial_t.n_scalar", Polynomial<Family::kChebyshevT>},
    {"aten.special_chebyshev_polynomial_t.x_scalar", OfDegrees<Family::kChebyshevT>},
    {"aten.special_chebyshev_polynomial_u.default", OfDegrees<Family::kChebyshevU>},
    {"aten.special_chebyshev_polynomial_u.n_scalar", Polynomial<Family::kChebyshevU>},
    {"aten.special_chebyshev_polynomial_u.x_scalar", OfDegrees<Family::kChebyshevU>},
    {"aten.special_chebyshev_polynomial_v.default", OfDegrees<Family::kChebyshevV>},
    {"aten.special_chebyshev_polynomial_v.n_scalar", Polynomial<Family::kChebyshevV>},
    {"aten.special_chebyshev_polynomial_v.x_scalar", OfDegrees<Family::kChebyshevV>},
    {"aten.special_chebyshev_polynomial_w.default", OfDegrees<Family::kChebyshevW>},
    {"aten.special_chebyshev_polynomial_w.n_scalar", Polynomial<Family::kChebyshevW>},
    {"aten.special_chebyshev_polynomial_w.x_scalar", OfDegrees<Family::kChebyshevW>},
    {"aten.special_hermite_polynomial_h.default", OfDegrees<Family::kHermite>},
    {"aten.special_hermite_polynomial_h.n_scalar", Polynomial<Family::kHermite>},
    {"aten.special_hermite_polynomial_h.x_scalar", OfDegrees<Family::kHermite>},
    {"aten.special_hermite_polynomial_he.default", OfDegrees<Family::kHermiteE>},
    {"aten.special_hermite_polynomial_he.n_scalar", Polynomial<Family::kHermiteE>},
    {"aten.special_hermite_polynomial_he.x_scalar", OfDegrees<Family::kHermiteE>},
    {"aten.special_laguerre_polynomial_l.default", OfDegrees<Family::kLaguerre>},
    {"aten.special_laguerre_polynomial_l.n_scalar", Polynomial<Family::kLaguerre>},
    {"aten.special_laguerre_polynomial_l.x_scalar", OfDegrees<Family::kLaguerre>},
    {"aten.special_legendre_polynomial_p.default", OfDegrees<Family::kLegendre>},
    {"aten.special_legendre_polynomial_p.n_scalar", Polynomial<Family::kLegendre>},
    {"aten.special_legendre_polynomial_p.x_scalar", OfDegrees<Family::kLegendre>},
    {"aten.special_polygamma.default", Same<"aten.polygamma.default">},
    {"aten.special_scaled_modified_bessel_k0.default",
     Same<"special.scaled_modified_bessel_k0.default">},
    {"aten.special_scaled_modified_bessel_k1.default",
     Same<"special.scaled_modified_bessel_k1.default">},
    {"aten.special_shifted_chebyshev_polynomial_t.default", OfDegrees<Family::kChebyshevT, true>},
    {"aten.special_shifted_chebyshev_polynomial_t.n_scalar", Polynomial<Family::kChebyshevT, true>},
    {"aten.special_shifted_chebyshev_polynomial_t.x_scalar", OfDegrees<Family::kChebyshevT, true>},
    {"aten.special_shifted_chebyshev_polynomial_u.default", OfDegrees<Family::kChebyshevU, true>},
    {"aten.special_shifted_chebyshev_polynomial_u.n_scalar", Polynomial<Family::kChebyshevU, true>},
    {"aten.special_shifted_chebyshev_polynomial_u.x_scalar", OfDegrees<Family::kChebyshevU, true>},
    {"aten.special_shifted_chebyshev_polynomial_v.default", OfDegrees<Family::kChebyshevV, true>},
    {"aten.special_shifted_chebyshev_polynomial_v.n_scalar", Polynomial<Family::kChebyshevV, true>},
    {"aten.special_shifted_chebyshev_polynomial_v.x_scalar", OfDegrees<Family::kChebyshevV, true>},
    {"aten.special_shifted_chebyshev_polynomial_w.default", OfDegrees<Family::kChebyshevW, true>},
    {"aten.special_shifted_chebyshev_polynomial_w.n_scalar", Polynomial<Family::kChebyshevW, true>},
    {"aten.special_shifted_chebyshev_polynomial_w.x_scalar", OfDegrees<Family::kChebyshevW, true>},
    {"aten.special_spherical_bessel_j0.default", Same<"special.spherical_bessel_j0.default">},
};

}  // namespace

absl::Span<const Decomposition> SpecialFunctionsDecompositions() { return kDecompositions; }

}  // namespace belay::exir
