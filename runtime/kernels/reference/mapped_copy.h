// Copies whose source index is a function of the target index, per dimension: reversals, rolls,
// repetitions, reflected borders.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_MAPPED_COPY_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_MAPPED_COPY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/core/tensor_view.h"

namespace belay {
namespace mapped_copy_internal {

template <size_t kBytes, class Map>
void Copy(const TensorView& from, const TensorView& to, Map& map) {
  const std::byte* source = from.as<const std::byte>();
  std::byte* target = to.as<std::byte>();
  const int rank = to.rank();
  if (rank == 0) {
    std::memcpy(target, source, kBytes);
    return;
  }
  const int last = rank - 1;
  int64_t index[kMaxRank] = {};
  int64_t from_offset[kMaxRank + 1] = {}, to_offset[kMaxRank + 1] = {};  // of dimensions before d
  int d = 0;
  while (true) {
    for (; d < last; ++d) {
      from_offset[d + 1] = from_offset[d] + map(d, index[d]) * from.strides[d];
      to_offset[d + 1] = to_offset[d] + index[d] * to.strides[d];
    }
    for (int64_t i = 0; i < to.sizes[last]; ++i) {
      const int64_t f = from_offset[last] + map(last, i) * from.strides[last];
      const int64_t t = to_offset[last] + i * to.strides[last];
      std::memcpy(target + t * static_cast<int64_t>(kBytes),
                  source + f * static_cast<int64_t>(kBytes), kBytes);
    }
    for (d = last - 1; d >= 0 && ++index[d] == to.sizes[d]; --d) index[d] = 0;
    if (d < 0) return;
  }
}

}  // namespace mapped_copy_internal

// to[i0, i1, …] = from[map(0, i0), map(1, i1), …]. kInvalidArgument if the dtypes differ.
// Precondition: equal ranks, and 0 <= map(d, i) < from.sizes[d] for all i < to.sizes[d].
template <class Map>
absl::Status CopyMapped(const TensorView& from, const TensorView& to, Map map) {
  if (from.dtype != to.dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("output 0: expected ", DTypeName(from.dtype), ", got ", DTypeName(to.dtype)));
  }
  if (to.numel() == 0) return absl::OkStatus();
  switch (DTypeSize(to.dtype)) {
    case 1:
      mapped_copy_internal::Copy<1>(from, to, map);
      break;
    case 2:
      mapped_copy_internal::Copy<2>(from, to, map);
      break;
    case 4:
      mapped_copy_internal::Copy<4>(from, to, map);
      break;
    case 8:
      mapped_copy_internal::Copy<8>(from, to, map);
      break;
    default:
      mapped_copy_internal::Copy<16>(from, to, map);
      break;
  }
  return absl::OkStatus();
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_MAPPED_COPY_H_
