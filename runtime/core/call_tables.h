// Memory, other than tensors, that every call of a method reads. Callers fetch it ahead of a call.
#ifndef BELAY_RUNTIME_CORE_CALL_TABLES_H_
#define BELAY_RUNTIME_CORE_CALL_TABLES_H_

#include <array>
#include <cstddef>

#include "absl/types/span.h"

namespace belay {

// Fetches the cache lines of `bytes` bytes.
inline void PrefetchLines(const void* data, size_t bytes) {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < bytes; at += kLine) {
    __builtin_prefetch(static_cast<const std::byte*>(data) + at);
  }
}

// A short list of memory ranges. Never accesses them.
class CallTables {
 public:
  static constexpr size_t kMostRanges = 16;
  static constexpr size_t kMostBytes = 8192;  // of all ranges

  // Adds the first bytes that fit.
  void Add(const void* data, size_t bytes);
  template <class T>
  void Add(absl::Span<const T> table) {
    Add(table.data(), table.size() * sizeof(T));
  }
  size_t bytes() const { return bytes_; }
  // Fetches the ranges into the caches, as a hint: they need not be valid.
  void Prefetch() const {
    for (size_t i = 0; i < count_; ++i) PrefetchLines(ranges_[i].data, ranges_[i].bytes);
  }

 private:
  struct Range {
    const void* data;
    size_t bytes;
  };
  size_t count_ = 0, bytes_ = 0;
  std::array<Range, kMostRanges> ranges_ = {};
};

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_CALL_TABLES_H_
