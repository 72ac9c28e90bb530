// How much memory the small pieces may take that a program is made of.
#ifndef BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_
#define BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/program/metadata_messages.h"

namespace belay {

// An upper bound of what validating the metadata holds at any time, whatever is in the lists. Looks
// at their numbers and sizes only. UINT64_MAX on overflow.
uint64_t PlansMemoryBound(const ProgramMessage& program, absl::Span<const MethodMessage> methods);

}  // namespace belay

#endif  // BELAY_RUNTIME_PROGRAM_MEMORY_BOUND_H_
