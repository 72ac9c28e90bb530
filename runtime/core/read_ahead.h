// Reads pages of mapped files before they are used.
#ifndef BELAY_RUNTIME_CORE_READ_AHEAD_H_
#define BELAY_RUNTIME_CORE_READ_AHEAD_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace belay {

// If these bytes are mapped from a file and not in memory, asks the system to read them in large
// pieces; otherwise the first use reads them page by page. A hint: it has no effect on other
// memory, nor below 64 KiB. Takes a few microseconds if three sampled pages are in memory; else may
// wait until a page is read and the others are queued. Thread-safe.
void ReadAhead(absl::Span<const std::byte> bytes);

// As ReadAhead of each range, with a few microseconds per 4 MiB instead of per range: ranges that
// are stored one after another are read together, also small ones.
void ReadAheadAll(std::vector<absl::Span<const std::byte>> ranges);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_READ_AHEAD_H_
