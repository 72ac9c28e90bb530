// Elements chosen by index (gather) and by rank (topk). Results have the bits of the reference
// kernels.
#ifndef BELAY_RUNTIME_KERNELS_SELECT_SELECT_H_
#define BELAY_RUNTIME_KERNELS_SELECT_SELECT_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// out[i * out_step] = from[index[i] * step + i * rest] for i < n, of elements of 1, 2, 4 or 8
// bytes. Every index was checked, and the memory of `index` is the caller's own.
void GatherRow(const void* from, int64_t step, int64_t rest, const int64_t* index, size_t n,
               size_t bytes, void* out, int64_t out_step);

// Whether some of n elements comes before `bound` in the order of topk: is larger than it (smaller,
// unless `largest`), or NaN.
bool AnyBeats(const float* x, size_t n, float bound, bool largest);

// The first of n indices that is not in [0, size); n when all are.
size_t FirstOutside(const int64_t* index, size_t n, int64_t size);

absl::Span<const Kernel> SelectHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SELECT_SELECT_H_
