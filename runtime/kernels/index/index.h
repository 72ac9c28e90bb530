// Copies of blocks at positions given by index tensors: embedding, index.Tensor, index_put. Results
// have the bits of the reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_INDEX_INDEX_H_
#define BELAY_RUNTIME_KERNELS_INDEX_INDEX_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// An indexed dimension: its size, and its stride in elements.
struct IndexedDim {
  int64_t size = 0, stride = 0;
  bool wraps = false;  // negative indices count from the end
};

// places[i] += index[i] * stride for i < n. Returns the position of the first index out of range,
// or n. If an index is out of range, `places` is undefined.
size_t AddPlaces(const int64_t* index, size_t n, const IndexedDim& dim, int64_t* places);

// Copies n blocks of `bytes` bytes in order: block i from `from + from_at[i] * unit` to `to +
// to_at[i] * unit`.
void CopyBlocks(const std::byte* from, const int64_t* from_at, std::byte* to, const int64_t* to_at,
                size_t n, int64_t unit, size_t bytes);

absl::Span<const Kernel> IndexHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_INDEX_INDEX_H_
