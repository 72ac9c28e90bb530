// Identity of constants, which differs from operator==.
#ifndef BELAY_RUNTIME_CORE_SAME_VALUE_H_
#define BELAY_RUNTIME_CORE_SAME_VALUE_H_

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>

namespace belay {

// Distinguishes zeros by sign; all NaNs are equal.
inline bool SameValue(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
inline bool SameValue(std::complex<double> a, std::complex<double> b) {
  return SameValue(a.real(), b.real()) && SameValue(a.imag(), b.imag());
}
template <typename T>
bool SameValue(const T& a, const T& b) {
  return a == b;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_SAME_VALUE_H_
