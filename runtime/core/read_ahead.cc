#include "runtime/core/read_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace belay {

void ReadAhead(absl::Span<const std::byte> bytes) {
  constexpr size_t kLeastBytes = size_t{64} << 10;
  if (bytes.size() < kLeastBytes) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Only whole pages: the first and the last may be shared with other memory.
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t skipped = (page - address % page) % page;
  if (skipped >= bytes.size()) return;
  const size_t size = (bytes.size() - skipped) / page * page;
  if (size == 0) return;
  ::madvise(const_cast<std::byte*>(bytes.data()) + skipped, size, MADV_WILLNEED);
}

}  // namespace belay
