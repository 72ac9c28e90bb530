// Upper bound of the memory used by a program's small allocations.
#ifndef BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_
#define BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/program/metadata_messages.h"

namespace belay {

// Returns an upper bound of the memory that validating the metadata uses at any time, for any
// contents of the lists. Only depends on their counts and sizes. UINT64_MAX on overflow.
uint64_t PlansMemoryBound(const ProgramMessage& program, absl::Span<const MethodMessage> methods);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_
