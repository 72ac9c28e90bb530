#include "runtime/core/read_ahead.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <vector>

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

using Range = absl::Span<const std::byte>;

uintptr_t BeginOf(Range range) { return reinterpret_cast<uintptr_t>(range.data()); }

}  // namespace

void ReadAhead(absl::Span<const std::byte> bytes) {
  constexpr size_t kLeastBytes = size_t{64} << 10;
  if (bytes.size() < kLeastBytes) return;
  const absl::Span<const std::byte> pages = WholePages(bytes);
  if (pages.empty() || AreResident(pages)) return;
  ::madvise(const_cast<std::byte*>(pages.data()), pages.size(), MADV_WILLNEED);
}

void ReadAheadAll(std::vector<absl::Span<const std::byte>> ranges) {
  // Three pages of each piece are sampled.
  constexpr size_t kPiece = size_t{4} << 20;
  constexpr uintptr_t kGap = 4096;  // padding, which is on the pages of the ranges
  if (ranges.empty()) return;
  static_assert(std::is_trivially_copyable_v<Range>);
  // std::sort would be one and a half kilobytes of the runtime's code.
  std::qsort(ranges.data(), ranges.size(), sizeof(Range), [](const void* a, const void* b) {
    const uintptr_t first = BeginOf(*static_cast<const Range*>(a));
    const uintptr_t second = BeginOf(*static_cast<const Range*>(b));
    return first < second ? -1 : int{first > second};
  });
  for (size_t i = 0; i < ranges.size();) {
    const std::byte* const first = ranges[i].data();
    uintptr_t end = BeginOf(ranges[i]) + ranges[i].size();
    for (++i; i < ranges.size() && BeginOf(ranges[i]) <= end + kGap; ++i) {
      end = std::max(end, BeginOf(ranges[i]) + ranges[i].size());
    }
    absl::Span<const std::byte> rest =
        absl::MakeConstSpan(first, end - reinterpret_cast<uintptr_t>(first));
    for (; !rest.empty(); rest.remove_prefix(std::min(rest.size(), kPiece))) {
      ReadAhead(rest.first(std::min(rest.size(), kPiece)));
    }
  }
}

}  // namespace belay
