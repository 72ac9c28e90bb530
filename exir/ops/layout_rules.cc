#include "exir/ops/layout_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/core/sizes.h"

namespace belay::exir {
namespace {

// Evaluates the expression with a large number for every symbol, very likely distinct. nullopt if
// it cannot be computed.
std::optional<int64_t> Sample(const SymInt& e) {
  return e.EvaluateInt([](std::string_view name) -> std::optional<int64_t> {
    uint32_t hash = 2166136261u;
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return 1009 + 2 * static_cast<int64_t>(hash % 5000);
  });
}

}  // namespace

bool LooksChannelsLast(const TensorMeta& meta) {
  const int rank = meta.rank();
  if (rank != 4 && rank != 5) return false;
  // From the innermost dimension of channels last to the outermost.
  std::vector<int> order = {1};
  for (int d = rank - 1; d >= 2; --d) order.push_back(d);
  order.push_back(0);
  int64_t least = 0;
  const std::optional<int64_t> channel_stride = Sample(meta.strides[1]);
  if (!channel_stride.has_value() || *channel_stride == 0) return false;
  for (int d : order) {
    const std::optional<int64_t> size = Sample(meta.sizes[d]), stride = Sample(meta.strides[d]);
    if (!size.has_value() || !stride.has_value() || *size == 0 || *stride < least) return false;
    // [n,1,1,1] and similar sizes: contiguous has priority.
    if (d == 0 && least == *channel_stride) return false;
    if (__builtin_mul_overflow(*stride, std::max<int64_t>(*size, 1), &least)) return false;
  }
  return true;
}

TensorMeta DenseInFormat(DType dtype, std::vector<SymInt> sizes, bool channels_last) {
  if (!channels_last) return TensorMeta::Contiguous(dtype, std::move(sizes));
  const DimOrder order = ChannelsLastOrder(static_cast<int>(sizes.size()));
  return TensorMeta::Dense(dtype, std::move(sizes), order);
}

void SortByStride(const TensorMeta& meta, std::vector<int>::iterator begin,
                  std::vector<int>::iterator end) {
  // Insertion sort is stable.
  for (auto it = begin; it != end; ++it) {
    for (auto to = it; to != begin; --to) {
      if (Sample(meta.strides[*to]).value_or(0) <= Sample(meta.strides[*(to - 1)]).value_or(0))
        break;
      std::swap(*to, *(to - 1));
    }
  }
}

}  // namespace belay::exir
