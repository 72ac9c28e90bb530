// Compute types of matrix factorizations.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_FACTOR_TYPES_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_FACTOR_TYPES_H_

#include <cmath>
#include <complex>

#include "runtime/core/dtype.h"

namespace belay {

// Calls fn(T()) with double, or complex<double> for a complex dtype.
template <class Fn>
auto WithFactorType(DType dtype, Fn&& fn) {
  return IsComplex(dtype) ? fn(std::complex<double>()) : fn(double{});
}

inline double Conjugate(double x) { return x; }
inline std::complex<double> Conjugate(std::complex<double> x) { return std::conj(x); }

// Magnitude by which LAPACK selects pivots: |re| + |im| for complex numbers, not the modulus.
inline double PivotSize(double x) { return std::abs(x); }
inline double PivotSize(std::complex<double> x) { return std::abs(x.real()) + std::abs(x.imag()); }

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_FACTOR_TYPES_H_
