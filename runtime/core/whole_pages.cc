#include "runtime/core/whole_pages.h"

#include <unistd.h>

#include <cstdint>

namespace belay {

absl::Span<const std::byte> WholePages(absl::Span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t skipped = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  if (skipped >= bytes.size()) return {};
  return bytes.subspan(skipped, (bytes.size() - skipped) / page * page);
}

}  // namespace belay
