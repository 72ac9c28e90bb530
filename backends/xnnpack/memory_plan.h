// Where the results of nodes lie in one block of memory.
#ifndef BELAY_BACKENDS_XNNPACK_MEMORY_PLAN_H_
#define BELAY_BACKENDS_XNNPACK_MEMORY_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace belay::xnnpack {

// Something that is needed from step `first` to step `last`, both included.
struct Lifetime {
  int64_t first = 0, last = 0;
  uint64_t bytes = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // one per lifetime, aligned to kArenaAlignment
  uint64_t bytes = 0;
};

// Places that are free again are used again, the smallest that is large enough, else the largest,
// which grows. Lifetimes come in ascending order of `first`. O(n log n). nullopt when the sum does
// not fit in 64 bits.
std::optional<MemoryPlan> PlanMemory(absl::Span<const Lifetime> lifetimes);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_MEMORY_PLAN_H_
