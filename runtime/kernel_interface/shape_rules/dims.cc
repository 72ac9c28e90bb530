#include "runtime/kernel_interface/shape_rules/dims.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace belay {

absl::StatusOr<Sizes> ToSizes(absl::Span<const CheckedInt> dims) {
  if (dims.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", dims.size(), " is above the limit of ", kMaxRank));
  }
  Sizes sizes;
  for (const CheckedInt& dim : dims) {
    if (!dim.ok() || dim.value() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("sizes ", FormatDims<CheckedInt>(dims), " have ",
                       dim.ok() ? "a negative dimension" : "a dimension that overflowed"));
    }
    sizes.push_back(dim.value());
  }
  if (!NumElements(sizes).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes ", FormatSizes(sizes), " have too many elements"));
  }
  return sizes;
}

Dims<CheckedInt> ToDims(absl::Span<const int64_t> sizes) {
  Dims<CheckedInt> dims;
  for (int64_t size : sizes) dims.push_back(size);
  return dims;
}

absl::StatusOr<int> NormalizeDim(int64_t dim, int rank) {
  const int64_t count = std::max(rank, 1);
  if (dim < -count || dim >= count) {
    return absl::OutOfRangeError(
        absl::StrCat("dim ", dim, " is out of range [", -count, ", ", count - 1, "]"));
  }
  return static_cast<int>(dim < 0 ? dim + count : dim);
}

}  // namespace belay
