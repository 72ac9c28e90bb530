#include "backends/xnnpack/memory_plan.h"

#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "runtime/core/arena.h"
#include "runtime/core/checked_math.h"

namespace belay::xnnpack {

std::optional<MemoryPlan> PlanMemory(absl::Span<const Lifetime> lifetimes) {
  std::vector<uint64_t> slots;  // sizes
  std::vector<size_t> slot_of;
  std::multimap<uint64_t, size_t> free;     // by size
  using Busy = std::pair<int64_t, size_t>;  // last step, slot
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  for (const Lifetime& lifetime : lifetimes) {
    while (!busy.empty() && busy.top().first < lifetime.first) {
      free.emplace(slots[busy.top().second], busy.top().second);
      busy.pop();
    }
    auto found = free.lower_bound(lifetime.bytes);
    if (found == free.end() && !free.empty()) --found;
    size_t slot = slots.size();
    if (found == free.end()) {
      slots.push_back(lifetime.bytes);
    } else {
      slot = found->second;
      free.erase(found);
      if (slots[slot] < lifetime.bytes) slots[slot] = lifetime.bytes;
    }
    slot_of.push_back(slot);
    busy.emplace(lifetime.last, slot);
  }
  std::vector<uint64_t> starts;
  MemoryPlan plan;
  for (uint64_t size : slots) {
    starts.push_back(plan.bytes);
    const std::optional<uint64_t> end = CheckedAdd(plan.bytes, size);
    const std::optional<uint64_t> next =
        end.has_value() ? CheckedAlignUp(*end, kArenaAlignment) : std::nullopt;
    if (!next.has_value()) return std::nullopt;
    plan.bytes = *next;
  }
  for (size_t slot : slot_of) plan.offsets.push_back(starts[slot]);
  return plan;
}

}  // namespace belay::xnnpack
