// Sorting of rows by integer keys that encode order, direction and position, so that the sort needs
// neither stability nor handling of NaN. Binary search.
#ifndef BELAY_RUNTIME_KERNELS_SORT_SORT_H_
#define BELAY_RUNTIME_KERNELS_SORT_SORT_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Key of an element of up to 32 bits. The upper half is the order of the element: NaN above all, -0
// equal to 0, inverted if descending. The lower half is its position in the row.
using SortKey = uint64_t;
// The same for elements of 64 bits.
struct WideSortKey {
  uint64_t order;
  int64_t place;
};

// Writes the keys of elements first … first + n - 1 of a row.
void MakeSortKeys(const float* in, size_t n, int64_t first, bool descending, SortKey* keys);
void MakeSortKeys(const int32_t* in, size_t n, int64_t first, bool descending, SortKey* keys);
void MakeSortKeys(const double* in, size_t n, int64_t first, bool descending, WideSortKey* keys);
void MakeSortKeys(const int64_t* in, size_t n, int64_t first, bool descending, WideSortKey* keys);

// Sorts n distinct keys by a radix sort from the least significant digit; skips digits that are
// equal in all keys. Compares few keys with each other. `room` is scratch memory for n keys.
// Returns the sorted array: `keys` or `room`.
SortKey* SortKeys(SortKey* keys, SortKey* room, size_t n);
WideSortKey* SortKeys(WideSortKey* keys, WideSortKey* room, size_t n);

// Returns the key that has `place` smaller ones among n distinct keys, and reorders them.
SortKey SelectKey(SortKey* keys, size_t n, size_t place);
WideSortKey SelectKey(WideSortKey* keys, size_t n, size_t place);

inline int64_t PlaceOf(SortKey key) { return static_cast<int64_t>(key & 0xFFFFFFFFu); }
inline int64_t PlaceOf(const WideSortKey& key) { return key.place; }

// Whether no key has a higher order, such as those of NaN in ascending order.
inline bool IsLargest(SortKey key) { return key >> 32 == 0xFFFFFFFFu; }
inline bool IsLargest(const WideSortKey& key) { return key.order == ~uint64_t{0}; }

// found[i] = the number of sorted boundaries that are less than x[i], or not greater if `right`.
// NaN is greater than all numbers. Boundaries that are not sorted give the result of a binary
// search that starts in the middle. Precondition: size <= 2^30.
void FindBoundaries(const float* boundaries, int32_t size, bool right, const float* x, size_t n,
                    int32_t* found);

absl::Span<const Kernel> SortHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SORT_SORT_H_
