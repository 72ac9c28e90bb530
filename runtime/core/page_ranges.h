// Pages of a block of memory that were written to.
#ifndef BELAY_RUNTIME_CORE_PAGE_RANGES_H_
#define BELAY_RUNTIME_CORE_PAGE_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace belay {

// A union of byte ranges, rounded to pages. Allocates only in the constructor.
class PageRanges {
 public:
  static constexpr uint64_t kPage = 4096;
  // The number of disjoint ranges is bounded, so that Add() is fast for any file.
  static constexpr size_t kMostRanges = 4096;

  // Room for the ranges of this many tensors.
  explicit PageRanges(size_t tensors);

  // The pages that Add() would add.
  struct Growth {
    uint64_t begin = 0, end = 0;  // the range, rounded to pages
    uint64_t bytes = 0;           // of its pages that are not covered
  };
  // [begin, end) is extended to its nearest neighbor if there are too many ranges. O(log ranges +
  // ranges inside the result). Precondition: begin <= end <= 2^62.
  Growth GrowthOf(uint64_t begin, uint64_t end) const;
  // Precondition: `growth` is a result of GrowthOf() since the last change. O(ranges).
  void Add(const Growth& growth);
  void Clear();

  uint64_t bytes() const { return bytes_; }
  static uint64_t MemoryBytes(size_t tensors);

 private:
  struct Range {
    uint64_t begin, end;
  };
  size_t most_;
  std::vector<Range> ranges_;  // ascending, disjoint, not adjacent
  uint64_t bytes_ = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_PAGE_RANGES_H_
