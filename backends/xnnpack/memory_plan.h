// Plans the placement of node results in one block of memory.
#ifndef BELAY_BACKENDS_XNNPACK_MEMORY_PLAN_H_
#define BELAY_BACKENDS_XNNPACK_MEMORY_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace belay::xnnpack {

// A buffer that is live from step `first` through step `last`.
struct Lifetime {
  int64_t first = 0, last = 0;
  uint64_t bytes = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // one per lifetime, aligned to kArenaAlignment
  uint64_t bytes = 0;
};

// Reuses free slots: the smallest one that is large enough, else the largest one, which grows.
// Lifetimes must be in ascending order of `first`. O(n log n). nullopt if the total exceeds 64
// bits.
std::optional<MemoryPlan> PlanMemory(absl::Span<const Lifetime> lifetimes);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_MEMORY_PLAN_H_
