#include "runtime/core/whole_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace belay {

absl::Span<const std::byte> WholePages(absl::Span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t skipped = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  if (skipped >= bytes.size()) return {};
  return bytes.subspan(skipped, (bytes.size() - skipped) / page * page);
}

void PopulatePages(void* data, size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
  constexpr size_t kLeastBytes = size_t{64} << 10;
  if (bytes < kLeastBytes) return;
  const absl::Span<const std::byte> pages =
      WholePages(absl::MakeConstSpan(static_cast<const std::byte*>(data), bytes));
  ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_POPULATE_WRITE);
#endif
}

}  // namespace belay
