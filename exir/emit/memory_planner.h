// Places tensors in one arena so that those alive at the same time do not overlap.
#ifndef BELAY_EXIR_EMIT_MEMORY_PLANNER_H_
#define BELAY_EXIR_EMIT_MEMORY_PLANNER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace belay::exir {

// A tensor to place: its size at its largest, and the instructions (inclusive) between which it
// holds a value.
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // parallel to the lifetimes; multiples of 64
  uint64_t arena_bytes = 0;
  std::string_view planner;
};

// The most bytes (each tensor rounded up to 64) alive at once: no plan is smaller.
uint64_t MemoryLowerBound(absl::Span<const Lifetime> lifetimes);

// Tries all planners (bump; greedy by size, best fit; greedy by lifetime; …), improves the best one
// by placing first what stands out at its top, and returns the smallest plan; the first of equals.
// Deterministic. O(n²) per planner up to 4000 tensors; above that one planner runs, in O(n) times
// the number of tensors alive at once.
MemoryPlan PlanMemory(absl::Span<const Lifetime> lifetimes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_PLANNER_H_
