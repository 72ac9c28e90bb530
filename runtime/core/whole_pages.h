// Pages of memory, for hints to the system.
#ifndef BELAY_RUNTIME_CORE_WHOLE_PAGES_H_
#define BELAY_RUNTIME_CORE_WHOLE_PAGES_H_

#include <cstddef>

#include "absl/types/span.h"

namespace belay {

// Returns the pages that are completely inside `bytes`, which may share its first and last page with
// other memory. The result may be empty.
absl::Span<const std::byte> WholePages(absl::Span<const std::byte> bytes);

// Asks the system for the pages of memory that is about to be written, all at once instead of with a
// fault at the first write to each. A hint: it changes no byte, and has no effect below 64 KiB or
// where the system does not support it.
void PopulatePages(void* data, size_t bytes);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_WHOLE_PAGES_H_
