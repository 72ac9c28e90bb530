// Powers with any exponent.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_POW_LOOPS_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_POW_LOOPS_H_

#include <cstddef>

namespace belay {

// out[i] = pow(in[i], exponent), with the special cases of C's pow(). In place or disjoint.
//
// Computes e^(exponent * log |x|) in double. The product is below 105 unless the result overflows
// or vanishes, and Highway's Log and Exp have errors of 4 and 1 ULP, so that the error is below
// 105 * 6 * 2^-53 < 2^-43 before the result is rounded: 1 ULP, and nearly always the nearest float.
void PowF32(const float* in, float exponent, size_t n, float* out);

// out[i] = pow(in[i], exponents[i]), computed likewise. The result may be an operand.
void PowF32(const float* in, const float* exponents, size_t n, float* out);

// out[i] = pow(base, exponents[i]), computed likewise. Precondition: base is positive, finite and
// not 1. In place or disjoint.
void PowOfBaseF32(float base, const float* exponents, size_t n, float* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_POW_LOOPS_H_
