// Assigns arena offsets so that tensors with overlapping lifetimes do not overlap in memory.
// Distributes tensors over memory banks.
#ifndef BELAY_EXIR_EMIT_MEMORY_PLANNER_H_
#define BELAY_EXIR_EMIT_MEMORY_PLANNER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/emit/memory_bank.h"

namespace belay::exir {

// A tensor to place: its maximum size, and its live interval in instructions (inclusive).
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t moved = 0;  // bytes that instructions read and write; only for PlanBanks
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

// A planner that a method can choose by name.
struct MemoryPlanner {
  std::string name;
  // Returns an offset per tensor, a multiple of 64. Tensors whose intervals overlap have disjoint
  // bytes, each rounded up to 64.
  std::function<std::vector<uint64_t>(absl::Span<const Lifetime>)> plan;
};

// Plans by one planner: one of `own`, or one of these:
//   bump                consecutive offsets without reuse
//   best_fit_by_size    the smallest sufficient hole, largest tensors first
//   best_fit_by_start   the same, first use first
//   best_fit_by_length  the same, longest interval first
//   best_fit_by_area    the same, bytes * length descending
//   best_fit_in_time    the same by first use, among the tensors alive then
//   slots               PlanSlots
// kInvalidArgument: another name; lists the known ones. kInternal: one of `own` returned another
// number of offsets, or offsets beyond 2^63.
absl::StatusOr<MemoryPlan> PlanMemoryBy(std::string_view planner,
                                        absl::Span<const Lifetime> lifetimes,
                                        absl::Span<const MemoryPlanner> own = {});

struct BankedPlan {
  std::vector<uint32_t> banks;    // parallel to the lifetimes: index of the bank
  std::vector<uint64_t> offsets;  // parallel to the lifetimes: in the bank, at its alignment
  std::vector<uint64_t> bytes;    // by bank; multiples of the alignment
  std::vector<uint64_t> moved;    // by bank: sum of Lifetime::moved
  std::string_view order = {};    // of placement
};

// Places each tensor in the fastest bank in which it fits, in an order; the last bank has the rest,
// planned by PlanMemory. Tries these orders, and returns the plan with the fewest bytes moved in
// the last bank, then in the one before it, and so on; then the first one:
//   by_density  moved / (bytes * length), descending; length in instructions
//   by_moved    moved, descending
//   by_size     bytes, descending
//   by_start    first use; the only order for more than 4000 tensors
// Share of the bytes moved that are in a fast bank of 1/8, 1/4, 1/2 and 3/4 of the arena, means
// over the models of conformance/models/zoo: by_density 19, 34, 64 and 77 %, by_moved 17, 35, 66
// and 82 %, by_size 14, 30, 60 and 79 %, by_start 9, 23, 52 and 71 %; the best of them 20, 37, 67
// and 83 % (memory_bench --fast_bank=SHARE). If no order fits, returns a plan whose last bank
// exceeds its capacity by the fewest bytes. Precondition: CheckBanks. Deterministic. Cost: four
// times that of PlanMemory per bank.
BankedPlan PlanBanks(absl::Span<const Lifetime> lifetimes, absl::Span<const MemoryBank> banks);
// Places in one order, by its name; more than 4000 tensors always by_start. kInvalidArgument: not
// an order; lists them.
absl::StatusOr<BankedPlan> PlanBanksBy(std::string_view order, absl::Span<const Lifetime> lifetimes,
                                       absl::Span<const MemoryBank> banks);
// Whether `a` is better than `b` by these rules; `capacity` is that of the last bank.
bool IsBetter(const BankedPlan& a, const BankedPlan& b, uint64_t capacity);

}  // namespace belay::exir

#endif  // BELAY_EXIR_EMIT_MEMORY_PLANNER_H_
