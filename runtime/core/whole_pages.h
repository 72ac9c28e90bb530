// Pages of memory, for hints to the system.
#ifndef BELAY_RUNTIME_CORE_WHOLE_PAGES_H_
#define BELAY_RUNTIME_CORE_WHOLE_PAGES_H_

#include <cstddef>

#include "absl/types/span.h"

namespace belay {

// Returns the pages that are completely inside `bytes`, which may share its first and last page with
// other memory. The result may be empty.
absl::Span<const std::byte> WholePages(absl::Span<const std::byte> bytes);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_WHOLE_PAGES_H_
