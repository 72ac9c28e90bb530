#include "runtime/core/page_ranges.h"

#include <algorithm>

namespace belay {

PageRanges::PageRanges(size_t tensors) : most_(std::clamp<size_t>(tensors, 1, kMostRanges)) {
  ranges_.reserve(most_ + 1);
}

uint64_t PageRanges::MemoryBytes(size_t tensors) {
  return (std::clamp<size_t>(tensors, 1, kMostRanges) + 1) * sizeof(Range);
}

PageRanges::Growth PageRanges::GrowthOf(uint64_t begin, uint64_t end) const {
  Growth growth;
  if (begin >= end) return growth;
  growth.begin = begin / kPage * kPage;
  growth.end = (end + kPage - 1) / kPage * kPage;
  // The first range that overlaps or is adjacent.
  auto next = std::partition_point(ranges_.begin(), ranges_.end(),
                                   [&](const Range& r) { return r.end < growth.begin; });
  const bool is_new = next == ranges_.end() || next->begin > growth.end;
  if (is_new && ranges_.size() >= most_) {
    const bool has_next = next != ranges_.end(), has_last = next != ranges_.begin();
    if (has_last &&
        (!has_next || growth.begin - std::prev(next)->end <= next->begin - growth.end)) {
      --next;
      growth.begin = next->end;
    } else {
      growth.end = next->begin;
    }
  }
  growth.bytes = growth.end - growth.begin;
  for (; next != ranges_.end() && next->begin < growth.end; ++next) {
    const uint64_t first = std::max(next->begin, growth.begin);
    const uint64_t last = std::min(next->end, growth.end);
    if (last > first) growth.bytes -= last - first;
  }
  return growth;
}

void PageRanges::Add(const Growth& growth) {
  if (growth.bytes == 0) return;
  const auto first = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [&](const Range& r) { return r.end < growth.begin; });
  const auto last = std::partition_point(first, ranges_.end(),
                                         [&](const Range& r) { return r.begin <= growth.end; });
  bytes_ += growth.bytes;
  if (first == last) {
    ranges_.insert(first, {growth.begin, growth.end});
    return;
  }
  first->begin = std::min(first->begin, growth.begin);
  first->end = std::max(std::prev(last)->end, growth.end);
  ranges_.erase(std::next(first), last);
}

void PageRanges::Clear() {
  ranges_.clear();
  bytes_ = 0;
}

}  // namespace belay
