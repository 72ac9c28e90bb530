// Sorting of rows by keys in which order, direction and place are one number, so that what sorts
// need not be stable nor know of NaN.
#ifndef BELAY_RUNTIME_KERNELS_SORT_SORT_H_
#define BELAY_RUNTIME_KERNELS_SORT_SORT_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// An element of up to 32 bits and its place in the row: the order of the elements in the upper half
// (NaN above all, -0 like 0; upside down where descending), the place in the lower.
using SortKey = uint64_t;
// The same for elements of 64 bits.
struct WideSortKey {
  uint64_t order;
  int64_t place;
};

// Makes the keys of elements first … first + n - 1 of a row.
void MakeSortKeys(const float* in, size_t n, int64_t first, bool descending, SortKey* keys);
void MakeSortKeys(const int32_t* in, size_t n, int64_t first, bool descending, SortKey* keys);
void MakeSortKeys(const double* in, size_t n, int64_t first, bool descending, WideSortKey* keys);
void MakeSortKeys(const int64_t* in, size_t n, int64_t first, bool descending, WideSortKey* keys);

// Sorts n keys, which all differ; `room` is for as many. Returns where the sorted ones are: `keys`
// or `room`. By digits from the last to the first, those that are equal in all left out.
SortKey* SortKeys(SortKey* keys, SortKey* room, size_t n);
WideSortKey* SortKeys(WideSortKey* keys, WideSortKey* room, size_t n);

inline int64_t PlaceOf(SortKey key) { return static_cast<int64_t>(key & 0xFFFFFFFFu); }
inline int64_t PlaceOf(const WideSortKey& key) { return key.place; }

absl::Span<const Kernel> SortHighwayKernels();

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_SORT_SORT_H_
