// Reads pages of mapped files before they are used.
#ifndef BELAY_RUNTIME_CORE_READ_AHEAD_H_
#define BELAY_RUNTIME_CORE_READ_AHEAD_H_

#include <cstddef>

#include "absl/types/span.h"

namespace belay {

// Asks the system to read these bytes from their file in large pieces, if they are mapped and not in
// memory; otherwise the first use reads them page by page. A hint: it has no effect on other memory,
// nor below 64 KiB. Takes a system call; may wait until the reads are queued. Thread-safe.
void ReadAhead(absl::Span<const std::byte> bytes);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_READ_AHEAD_H_
