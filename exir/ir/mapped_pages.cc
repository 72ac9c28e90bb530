#include "exir/ir/mapped_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/core/whole_pages.h"

namespace belay::exir {
namespace {

// [first, last)
struct Range {
  uintptr_t first, last;
  bool operator==(const Range&) const = default;
};

Range RangeOf(absl::Span<const std::byte> bytes) {
  const auto first = reinterpret_cast<uintptr_t>(bytes.data());
  return {first, first + bytes.size()};
}

// Ranges of live mappings. A few, one per archive.
class Mappings {
 public:
  void Add(Range range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.push_back(range);
  }
  void Remove(Range range) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.erase(std::find(ranges_.begin(), ranges_.end(), range));
  }
  // Holds the lock, so that the mapping exists during the call.
  void Release(absl::Span<const std::byte> bytes) {
    const absl::Span<const std::byte> pages = WholePages(bytes);
    if (pages.empty()) return;
    const Range range = RangeOf(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Range& mapping : ranges_) {
      if (range.first < mapping.first || range.last > mapping.last) continue;
      // The mapping is private and read-only, so no page has content of its own.
      ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_DONTNEED);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Range> ranges_;
};

Mappings& AllMappings() {
  static Mappings& mappings = *new Mappings;
  return mappings;
}

struct Owner {
  explicit Owner(std::shared_ptr<const MappedFile> mapped) : file(std::move(mapped)) {
    AllMappings().Add(RangeOf(file->bytes()));
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { AllMappings().Remove(RangeOf(file->bytes())); }
  std::shared_ptr<const MappedFile> file;
};

}  // namespace

std::shared_ptr<const void> OwnerOfMapping(std::shared_ptr<const MappedFile> file) {
  return std::make_shared<const Owner>(std::move(file));
}

void ReleasePages(absl::Span<const std::byte> bytes) { AllMappings().Release(bytes); }

}  // namespace belay::exir
