// Selection of elements by index (gather, scatter) and by rank (topk). Results have the bits of the
// reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_SELECT_SELECT_H_
#define BELAY_RUNTIME_KERNELS_SELECT_SELECT_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// out[i * out_step] = from[index[i] * step + i * rest] for i < n, with elements of 1, 2, 4 or 8
// bytes. Precondition: every index was checked, and `index` is memory owned by the caller, so that
// it cannot change after the check.
void GatherRow(const void* from, int64_t step, int64_t rest, const int64_t* index, size_t n,
               size_t bytes, void* out, int64_t out_step);

// Returns in bit i whether x[i] precedes `bound` in the order of topk: is larger (smaller, unless
// `largest`), or NaN. n <= 64.
uint64_t Beating(const float* x, size_t n, float bound, bool largest);
uint64_t Beating(const int64_t* x, size_t n, int64_t bound, bool largest);

// Position of the first of n indices outside [0, size); n if all are inside.
size_t FirstOutside(const int64_t* index, size_t n, int64_t size);

absl::Span<const Kernel> SelectHighwayKernels();
// scatter, scatter_add and scatter_reduce.
absl::Span<const Kernel> ScatterHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SELECT_SELECT_H_
