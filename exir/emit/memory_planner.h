// Assigns arena offsets so that tensors with overlapping lifetimes do not overlap in memory.
#ifndef BELAY_EXIR_EMIT_MEMORY_PLANNER_H_
#define BELAY_EXIR_EMIT_MEMORY_PLANNER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace belay::exir {

// A tensor to place: its maximum size, and its live interval in instructions (inclusive).
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

// Maximum of the bytes alive at once, with each tensor rounded up to 64. No plan is smaller.
uint64_t MemoryLowerBound(absl::Span<const Lifetime> lifetimes);

// Runs all planners (bump; greedy by size, best fit; greedy by lifetime; …) and returns the
// smallest plan, the first of equals. The best plan is improved by placing first the tensors that
// exceed the rest at its top. Deterministic. O(n²) per planner up to 4000 tensors. Above that, one
// planner runs, in O(n) times the number of tensors alive at once.
MemoryPlan PlanMemory(absl::Span<const Lifetime> lifetimes);

// Divides the arena into slots, one per tensor alive at once, each as large as its largest tensor.
// For arenas whose pages use memory once they are written: tensors that are smaller than their
// maximum share the pages at the start of their slot, whereas PlanMemory gives them many different
// offsets. Deterministic. O(n) times the number of slots.
MemoryPlan PlanSlots(absl::Span<const Lifetime> lifetimes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_PLANNER_H_
