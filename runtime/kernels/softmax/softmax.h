// Softmax of rows of floats. Error: 8 ULP of the largest element of the result.
#ifndef BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_
#define BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_

#include <cstddef>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// A row with a NaN, or of nothing but -inf, becomes NaN, as in PyTorch. n > 0.
// `out` may be `in`.
void SoftmaxRowF32(const float* in, size_t n, float* out);
void LogSoftmaxRowF32(const float* in, size_t n, float* out);

// Over any dimension of float32, float16 and bfloat16 tensors of any layout; half precision
// computes as float and is rounded once.
absl::Span<const Kernel> SoftmaxHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_
