// Products and magnitudes of complex64 elements.
//
// Products are computed in float: each part of (a + i b) (c + i d) has an error of at most 2^-23 times
// |a c| + |b d|, or |a d| + |b c|. Magnitudes are computed in double and are within 1 ULP.
#ifndef BELAY_RUNTIME_KERNELS_FFT_COMPLEX_LOOPS_H_
#define BELAY_RUNTIME_KERNELS_FFT_COMPLEX_LOOPS_H_

#include <cstddef>

namespace belay {

// out[i] = a[i] * b[i], of interleaved parts (re, im). The result may be an operand.
void MultiplyComplex(const float* a, const float* b, size_t n, float* out);
// out[i] = |a[i]|; infinite if a part is infinite.
void ComplexMagnitudes(const float* a, size_t n, float* out);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_FFT_COMPLEX_LOOPS_H_
