#include "runtime/core/read_ahead.h"

#include <sys/mman.h>

#include "runtime/core/whole_pages.h"

namespace belay {

void ReadAhead(absl::Span<const std::byte> bytes) {
  constexpr size_t kLeastBytes = size_t{64} << 10;
  if (bytes.size() < kLeastBytes) return;
  const absl::Span<const std::byte> pages = WholePages(bytes);
  if (pages.empty()) return;
  ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_WILLNEED);
}

}  // namespace belay
