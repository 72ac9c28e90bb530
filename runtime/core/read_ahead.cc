#include "runtime/core/read_ahead.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>

#include "runtime/core/whole_pages.h"

namespace belay {
namespace {

bool IsReportedResident(const std::byte* page) {
  unsigned char resident = 0;
  return ::mincore(const_cast<std::byte*>(page), /*length=*/1, &resident) != 0 ||
         (resident & 1) != 0;
}

// Reads a byte of the page. Returns whether it was read from the file.
bool ReadsFromFile(const std::byte* page) {
  rusage before = {}, after = {};
  ::getrusage(RUSAGE_THREAD, &before);
  static_cast<void>(*static_cast<const volatile std::byte*>(page));
  ::getrusage(RUSAGE_THREAD, &after);
  return after.ru_majflt != before.ru_majflt;
}

// Samples three pages: a hint for resident pages takes as long as finding each of them. Linux
// reports pages of files that the process may not write as resident, so one of them is read.
bool AreResident(absl::Span<const std::byte> pages) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const std::byte* const first = pages.data();
  const std::byte* const last = first + pages.size() - page;
  const std::byte* const middle = first + pages.size() / page / 2 * page;
  return IsReportedResident(first) && IsReportedResident(middle) && IsReportedResident(last) &&
         !ReadsFromFile(middle);
}

}  // namespace

void ReadAhead(absl::Span<const std::byte> bytes) {
  constexpr size_t kLeastBytes = size_t{64} << 10;
  if (bytes.size() < kLeastBytes) return;
  const absl::Span<const std::byte> pages = WholePages(bytes);
  if (pages.empty() || AreResident(pages)) return;
  ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_WILLNEED);
}

}  // namespace belay
