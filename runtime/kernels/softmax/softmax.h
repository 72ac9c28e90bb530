// Softmax of rows of floats.
//
// Error: at most 13 + ln n + n / 4 ULP of the largest element of the result. Let u be half a unit
// in the last place of 1. The error relative to the exact result is the sum of:
// - each exponential: 4 u (math-inl.h), plus u of the largest for rounding x - top;
// - the sum of n exponentials, in four or more partial sums that are added at the end: 4 u for the
//   exponentials, ln n u for their arguments (the mean of |x - top| weighted by the exponentials),
//   and (n / 4 + 2) u for adding positive numbers (Higham, "Accuracy and Stability of Numerical
//   Algorithms", 2002, §4.2);
// - the division and the rounding of the expected result: 2 u.
// The logarithm's error is no larger, since the largest element is added to the others exactly:
// s / (1 + s) <= ln(1 + s). It is computed in float, which adds 4 ULP.
// Exponentials that would be subnormal count as 0.
#ifndef BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_
#define BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_

#include <cstddef>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// A row that has a NaN, or only -inf, becomes NaN, as in PyTorch. n > 0. `out` may be `in`.
void SoftmaxRowF32(const float* in, size_t n, float* out);
void LogSoftmaxRowF32(const float* in, size_t n, float* out);

// The same for float64. The exponentials are those of pointwise loops, with 2 ULP; the sum has the
// bound above.
void SoftmaxRowF64(const double* in, size_t n, double* out);
void LogSoftmaxRowF64(const double* in, size_t n, double* out);

// Softmax, or its logarithm, of `columns` columns of n elements: element i of column c is
// in[i * in_step + c], and likewise for `out`. The error is that of a row. n > 0. `out` may be `in` if the steps are equal.
void SoftmaxColumnsF32(const float* in, size_t n, size_t in_step, size_t columns, float* out,
                       size_t out_step);
void LogSoftmaxColumnsF32(const float* in, size_t n, size_t in_step, size_t columns, float* out,
                          size_t out_step);

// Softmax and log-softmax over any dimension of float64, float32, float16 and bfloat16 tensors of any
// layout. Half precision is computed as float and rounded once.
absl::Span<const Kernel> SoftmaxHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_
