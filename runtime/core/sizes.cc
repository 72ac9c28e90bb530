#include "runtime/core/sizes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "runtime/core/checked_math.h"

namespace belay {

std::optional<int64_t> NumElements(absl::Span<const int64_t> sizes) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
      continue;
    }
    const std::optional<int64_t> next = CheckedMul(product, size);
    if (!next.has_value()) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

Strides DenseStrides(absl::Span<const int64_t> sizes, absl::Span<const uint8_t> order) {
  ABSL_CHECK(sizes.size() == order.size());
  const int rank = static_cast<int>(sizes.size());
  Strides strides(rank, 1);
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int d = order[i];
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

Strides ContiguousStrides(absl::Span<const int64_t> sizes) {
  return DenseStrides(sizes, ContiguousOrder(static_cast<int>(sizes.size())));
}

DimOrder ContiguousOrder(int rank) {
  DimOrder order;
  for (int d = 0; d < rank; ++d) order.push_back(static_cast<uint8_t>(d));
  return order;
}

DimOrder ChannelsLastOrder(int rank) {
  if (rank == 4) return {0, 2, 3, 1};
  if (rank == 5) return {0, 2, 3, 4, 1};
  return ContiguousOrder(rank);
}

bool IsPermutation(absl::Span<const uint8_t> order) {
  if (order.size() > kMaxRank) return false;
  uint32_t seen = 0;
  for (uint8_t d : order) {
    if (d >= order.size() || ((seen >> d) & 1) != 0) return false;
    seen |= uint32_t{1} << d;
  }
  return true;
}

bool IsContiguous(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides) {
  if (sizes.size() != strides.size()) return false;
  if (NumElements(sizes) == 0) return true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    const std::optional<int64_t> next = CheckedMul(expected, sizes[i]);
    if (!next.has_value()) return false;
    expected = *next;
  }
  return true;
}

bool IsDense(absl::Span<const int64_t> sizes, absl::Span<const int64_t> strides) {
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank) return false;
  const std::optional<int64_t> elements = NumElements(sizes);
  if (!elements.has_value()) return false;
  if (*elements == 0) return true;
  const std::optional<DimOrder> order = DimOrderOf(sizes, strides);
  if (!order.has_value()) return false;
  int64_t expected = 1;
  for (int i = order->size() - 1; i >= 0; --i) {
    const int d = (*order)[i];
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

std::optional<DimOrder> DimOrderOf(absl::Span<const int64_t> sizes,
                                   absl::Span<const int64_t> strides) {
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank) return std::nullopt;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] == 0 && sizes[d] > 1) return std::nullopt;
  }
  // Insertion sort: stable, without the buffer of std::stable_sort.
  DimOrder order = ContiguousOrder(static_cast<int>(sizes.size()));
  for (int i = 1; i < order.size(); ++i) {
    const uint8_t d = order[i];
    int k = i;
    for (; k > 0 && strides[order[k - 1]] < strides[d]; --k) order[k] = order[k - 1];
    order[k] = d;
  }
  return order;
}

std::string FormatSizes(absl::Span<const int64_t> sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ","), "]");
}

}  // namespace belay
