// How much memory the small pieces may take that a program is made of.
#ifndef BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_
#define BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace belay {

// An upper bound of what parsing and validating the metadata holds at any time, whatever is in it.
// Looks at two levels of messages; linear in their number. UINT64_MAX on overflow.
uint64_t MetadataMemoryBound(absl::Span<const std::byte> metadata);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_
