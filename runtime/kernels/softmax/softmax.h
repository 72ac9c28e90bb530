// Softmax of rows of floats. Error: 8 ULP relative to the correctly rounded result, plus 1e-7
// absolute for tiny ones.
#ifndef BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_
#define BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_

#include <cstddef>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// A row with a NaN, or of nothing but -inf, becomes NaN, as in PyTorch. n > 0.
void SoftmaxRowF32(const float* in, size_t n, float* out);
void LogSoftmaxRowF32(const float* in, size_t n, float* out);

// Over the last dimension of row-major tensors.
absl::Span<const Kernel> SoftmaxHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SOFTMAX_SOFTMAX_H_
