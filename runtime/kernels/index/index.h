// Blocks of elements at places that index tensors name: embedding, index.Tensor, index_put.
// Results have the bits of the reference kernels.
#ifndef BELAY_RUNTIME_KERNELS_INDEX_INDEX_H_
#define BELAY_RUNTIME_KERNELS_INDEX_INDEX_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// A dimension that is indexed: how many elements it has, and how far they are apart.
struct IndexedDim {
  int64_t size = 0, stride = 0;
  bool wraps = false;  // indices below 0 count from the end
};

// places[i] += index[i] * stride for i < n. Returns the number of the first index that is out of
// range, then places are undefined; n when there is none.
size_t AddPlaces(const int64_t* index, size_t n, const IndexedDim& dim, int64_t* places);

// Copies n blocks of `bytes` bytes: block i from `from + from_at[i] * unit` to `to + to_at[i] *
// unit`, in this order.
void CopyBlocks(const std::byte* from, const int64_t* from_at, std::byte* to, const int64_t* to_at,
                size_t n, int64_t unit, size_t bytes);

absl::Span<const Kernel> IndexHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_INDEX_INDEX_H_
