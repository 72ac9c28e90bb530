// Data structures of the memory checker: sets of tensors, and bytes covered by live tensors.
#ifndef BELAY_EXIR_EMIT_MEMORY_SETS_H_
#define BELAY_EXIR_EMIT_MEMORY_SETS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belay::exir {

// A bit set of tensors; one exists per basic block.
class Bits {
 public:
  explicit Bits(size_t size, bool all = false) : words_((size + 63) / 64, all ? ~uint64_t{0} : 0) {}
  void Set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void Clear(size_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  bool Get(size_t i) const { return (words_[i / 64] >> (i % 64)) & 1; }
  // Returns whether the set grew.
  bool Add(const Bits& other) {
    bool changed = false;
    for (size_t w = 0; w < words_.size(); ++w) {
      const uint64_t merged = words_[w] | other.words_[w];
      changed = changed || merged != words_[w];
      words_[w] = merged;
    }
    return changed;
  }
  bool Keep(const Bits& other) {
    bool changed = false;
    for (size_t w = 0; w < words_.size(); ++w) {
      const uint64_t common = words_[w] & other.words_[w];
      changed = changed || common != words_[w];
      words_[w] = common;
    }
    return changed;
  }

 private:
  std::vector<uint64_t> words_;
};

struct Region {
  uint64_t begin = 0, end = 0;
  bool Overlaps(const Region& o) const { return begin < o.end && o.begin < end; }
  bool empty() const { return begin >= end; }
  bool operator==(const Region&) const = default;
};

// Counts the live tensors that cover each byte.
class Coverage {
 public:
  explicit Coverage(const std::vector<Region>& regions) {
    for (const Region& r : regions) {
      if (!r.empty()) edges_.insert(edges_.end(), {r.begin, r.end});
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    while (leaves_ < edges_.size()) leaves_ *= 2;
    most_.assign(2 * leaves_, 0);
    added_.assign(2 * leaves_, 0);
  }
  void Add(const Region& region, int count) {
    if (!region.empty()) Add(1, 0, leaves_, At(region.begin), At(region.end), count);
  }
  bool Any(const Region& region) const {
    return !region.empty() && Most(1, 0, leaves_, At(region.begin), At(region.end)) > 0;
  }

 private:
  size_t At(uint64_t edge) const {
    return static_cast<size_t>(std::lower_bound(edges_.begin(), edges_.end(), edge) -
                               edges_.begin());
  }
  void Add(size_t node, size_t low, size_t high, size_t begin, size_t end, int count) {
    if (begin >= high || end <= low) return;
    if (begin <= low && high <= end) {
      most_[node] += count;
      added_[node] += count;
      return;
    }
    const size_t middle = (low + high) / 2;
    Add(2 * node, low, middle, begin, end, count);
    Add(2 * node + 1, middle, high, begin, end, count);
    most_[node] = added_[node] + std::max(most_[2 * node], most_[2 * node + 1]);
  }
  int Most(size_t node, size_t low, size_t high, size_t begin, size_t end) const {
    if (begin >= high || end <= low) return 0;
    if (begin <= low && high <= end) return most_[node];
    const size_t middle = (low + high) / 2;
    return added_[node] + std::max(Most(2 * node, low, middle, begin, end),
                                   Most(2 * node + 1, middle, high, begin, end));
  }

  std::vector<uint64_t> edges_;
  size_t leaves_ = 1;
  std::vector<int> most_, added_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_SETS_H_
