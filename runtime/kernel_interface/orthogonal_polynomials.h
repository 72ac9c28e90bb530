// Families of orthogonal polynomials, and their recurrences.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_ORTHOGONAL_POLYNOMIALS_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_ORTHOGONAL_POLYNOMIALS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace belay {

// The values are an argument of special.polynomial in program files: never renumber.
enum class PolynomialFamily : uint8_t {
  kChebyshevT,
  kChebyshevU,
  kChebyshevV,
  kChebyshevW,
  kHermite,
  kHermiteE,
  kLaguerre,
  kLegendre,
};
inline constexpr int64_t kPolynomialFamilies = 8;

// p[0] = 1, p[1] = slope * x + start, and with next(k)
// p[k+1] = (by_x * x + by_one) / divisor * p[k] - before / divisor * p[k-1]
struct PolynomialRecurrence {
  struct Step {
    double by_x, by_one, before, divisor;
  };
  double slope, start;
  Step (*next)(double k);
};

// Source: Abramowitz, Stegun 22.7.
constexpr PolynomialRecurrence RecurrenceOf(PolynomialFamily family) {
  using Step = PolynomialRecurrence::Step;
  constexpr auto kChebyshev = [](double) { return Step{2, 0, 1, 1}; };
  constexpr PolynomialRecurrence kRecurrences[] = {
      {1, 0, kChebyshev},
      {2, 0, kChebyshev},
      {2, -1, kChebyshev},
      {2, 1, kChebyshev},
      {2, 0, [](double k) { return Step{2, 0, 2 * k, 1}; }},
      {1, 0, [](double k) { return Step{1, 0, k, 1}; }},
      {-1, 1, [](double k) { return Step{-1, 2 * k + 1, k, k + 1}; }},
      {1, 0, [](double k) { return Step{2 * k + 1, 0, k, k + 1}; }},
  };
  static_assert(std::size(kRecurrences) == kPolynomialFamilies);
  return kRecurrences[static_cast<size_t>(family)];
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_ORTHOGONAL_POLYNOMIALS_H_
