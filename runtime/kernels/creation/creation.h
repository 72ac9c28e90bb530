// Creation of constant tensors and arithmetic sequences. Results have the bits of the reference
// kernels, which share runtime/kernels/operands/creation_kernels.h.
#ifndef BELAY_RUNTIME_KERNELS_CREATION_CREATION_H_
#define BELAY_RUNTIME_KERNELS_CREATION_CREATION_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// out[i] = first + (start + i) * step, in wrapping 64-bit integers or in double precision.
void CountInt64(uint64_t first, uint64_t step, int64_t start, size_t n, int64_t* out);
void CountFloat64(double first, double step, int64_t start, size_t n, double* out);
void CountFloat32(double first, double step, int64_t start, size_t n, float* out);

absl::Span<const Kernel> CreationHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CREATION_CREATION_H_
