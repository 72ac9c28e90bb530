// Special functions: orthogonal polynomials, those of constant degree by their recurrences, and
// synonyms.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exir/builder/op_shorthand.h"
#include "exir/decompositions/families.h"

namespace belay::exir {
namespace {

// p[0] = 1, p[1] = slope x + start, and p[k+1] = (by_x x + by_one) p[k] - before p[k-1], where
// {by_x, by_one, before} is next(k).
struct Recurrence {
  double slope, start;
  std::array<double, 3> (*next)(double k);
};
// Abramowitz, Stegun 22.7.
constexpr auto kChebyshev = [](double) { return std::array{2.0, 0.0, 1.0}; };
constexpr Recurrence kChebyshevT = {1, 0, kChebyshev}, kChebyshevU = {2, 0, kChebyshev},
                     kChebyshevV = {2, -1, kChebyshev}, kChebyshevW = {2, 1, kChebyshev};
constexpr Recurrence kHermite = {2, 0, [](double k) { return std::array{2.0, 0.0, 2 * k}; }};
constexpr Recurrence kHermiteE = {1, 0, [](double k) { return std::array{1.0, 0.0, k}; }};
constexpr Recurrence kLaguerre = {
    -1, 1, [](double k) { return std::array{-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)}; }};
constexpr Recurrence kLegendre = {
    1, 0, [](double k) { return std::array{(2 * k + 1) / (k + 1), 0.0, k / (k + 1)}; }};

// Evaluates at x, or at 2 x - 1 if kShifted. A negative degree gives 0.
template <const Recurrence& kRule, bool kShifted = false>
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
    const Argument x = kShifted ? Sub(b, Mul(b, whole, 2.0), 1.0) : whole;
    Argument before = constant(1), last = Add(b, Mul(b, x, kRule.slope), kRule.start);
    for (int64_t k = 1; k < degree && b.ok(); ++k) {
      const auto [by_x, by_one, by_before] = kRule.next(static_cast<double>(k));
      Argument factor = Mul(b, x, by_x);
      if (by_one != 0) factor = Add(b, factor, by_one);
      const Argument next = Sub(b, Mul(b, factor, last), Mul(b, before, by_before));
      before = last;
      last = next;
    }
    return last;
  });
}

// Argument `family` of special.polynomial: PolynomialFamily of
// runtime/kernel/shape_rules/pointwise.h.
enum class Family : uint8_t {
  kChebyshevT,
  kChebyshevU,
  kChebyshevV,
  kChebyshevW,
  kHermite,
  kHermiteE,
  kLaguerre,
  kLegendre,
};

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
    {"aten.special_chebyshev_polynomial_t.n_scalar", Polynomial<kChebyshevT>},
    {"aten.special_chebyshev_polynomial_t.x_scalar", OfDegrees<Family::kChebyshevT>},
    {"aten.special_chebyshev_polynomial_u.default", OfDegrees<Family::kChebyshevU>},
    {"aten.special_chebyshev_polynomial_u.n_scalar", Polynomial<kChebyshevU>},
    {"aten.special_chebyshev_polynomial_u.x_scalar", OfDegrees<Family::kChebyshevU>},
    {"aten.special_chebyshev_polynomial_v.default", OfDegrees<Family::kChebyshevV>},
    {"aten.special_chebyshev_polynomial_v.n_scalar", Polynomial<kChebyshevV>},
    {"aten.special_chebyshev_polynomial_v.x_scalar", OfDegrees<Family::kChebyshevV>},
    {"aten.special_chebyshev_polynomial_w.default", OfDegrees<Family::kChebyshevW>},
    {"aten.special_chebyshev_polynomial_w.n_scalar", Polynomial<kChebyshevW>},
    {"aten.special_chebyshev_polynomial_w.x_scalar", OfDegrees<Family::kChebyshevW>},
    {"aten.special_hermite_polynomial_h.default", OfDegrees<Family::kHermite>},
    {"aten.special_hermite_polynomial_h.n_scalar", Polynomial<kHermite>},
    {"aten.special_hermite_polynomial_h.x_scalar", OfDegrees<Family::kHermite>},
    {"aten.special_hermite_polynomial_he.default", OfDegrees<Family::kHermiteE>},
    {"aten.special_hermite_polynomial_he.n_scalar", Polynomial<kHermiteE>},
    {"aten.special_hermite_polynomial_he.x_scalar", OfDegrees<Family::kHermiteE>},
    {"aten.special_laguerre_polynomial_l.default", OfDegrees<Family::kLaguerre>},
    {"aten.special_laguerre_polynomial_l.n_scalar", Polynomial<kLaguerre>},
    {"aten.special_laguerre_polynomial_l.x_scalar", OfDegrees<Family::kLaguerre>},
    {"aten.special_legendre_polynomial_p.default", OfDegrees<Family::kLegendre>},
    {"aten.special_legendre_polynomial_p.n_scalar", Polynomial<kLegendre>},
    {"aten.special_legendre_polynomial_p.x_scalar", OfDegrees<Family::kLegendre>},
    {"aten.special_polygamma.default", Same<"aten.polygamma.default">},
    {"aten.special_scaled_modified_bessel_k0.default",
     Same<"special.scaled_modified_bessel_k0.default">},
    {"aten.special_scaled_modified_bessel_k1.default",
     Same<"special.scaled_modified_bessel_k1.default">},
    {"aten.special_shifted_chebyshev_polynomial_t.default", OfDegrees<Family::kChebyshevT, true>},
    {"aten.special_shifted_chebyshev_polynomial_t.n_scalar", Polynomial<kChebyshevT, true>},
    {"aten.special_shifted_chebyshev_polynomial_t.x_scalar", OfDegrees<Family::kChebyshevT, true>},
    {"aten.special_shifted_chebyshev_polynomial_u.default", OfDegrees<Family::kChebyshevU, true>},
    {"aten.special_shifted_chebyshev_polynomial_u.n_scalar", Polynomial<kChebyshevU, true>},
    {"aten.special_shifted_chebyshev_polynomial_u.x_scalar", OfDegrees<Family::kChebyshevU, true>},
    {"aten.special_shifted_chebyshev_polynomial_v.default", OfDegrees<Family::kChebyshevV, true>},
    {"aten.special_shifted_chebyshev_polynomial_v.n_scalar", Polynomial<kChebyshevV, true>},
    {"aten.special_shifted_chebyshev_polynomial_v.x_scalar", OfDegrees<Family::kChebyshevV, true>},
    {"aten.special_shifted_chebyshev_polynomial_w.default", OfDegrees<Family::kChebyshevW, true>},
    {"aten.special_shifted_chebyshev_polynomial_w.n_scalar", Polynomial<kChebyshevW, true>},
    {"aten.special_shifted_chebyshev_polynomial_w.x_scalar", OfDegrees<Family::kChebyshevW, true>},
    {"aten.special_spherical_bessel_j0.default", Same<"special.spherical_bessel_j0.default">},
};

}  // namespace

absl::Span<const Decomposition> SpecialFunctionsDecompositions() { return kDecompositions; }

}  // namespace belay::exir
