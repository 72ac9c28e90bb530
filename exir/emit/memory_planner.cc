#include "exir/emit/memory_planner.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr uint64_t kAlignment = 64;
// Offset of tensors that a limited plan has no room for.
constexpr uint64_t kUnplaced = std::numeric_limits<uint64_t>::max();
// Above this, only one planner runs, whose cost depends on the live tensors.
constexpr size_t kManyTensors = 4000;
// Number of improvement rounds, and the tensor count above which fewer rounds run.
constexpr size_t kRounds = 40;
constexpr size_t kSeveralTensors = 500;
constexpr size_t kFewRounds = 4;

uint64_t RoundUp(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}
uint64_t Rounded(uint64_t bytes) { return RoundUp(bytes, kAlignment); }

bool Overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Consecutive offsets without reuse: the baseline.
MemoryPlan Bump(absl::Span<const Lifetime> lifetimes) {
  MemoryPlan plan;
  plan.planner = "bump";
  for (const Lifetime& lifetime : lifetimes) {
    plan.offsets.push_back(plan.arena_bytes);
    plan.arena_bytes += Rounded(lifetime.bytes);
  }
  return plan;
}

// Places tensors in this order, each into the smallest sufficient hole between placed tensors with
// overlapping lifetimes, or after all of them. Skips those that would end after `capacity`.
MemoryPlan BestFit(absl::Span<const Lifetime> lifetimes, const std::vector<uint32_t>& order,
                   std::string_view name, uint64_t capacity = kUnplaced) {
  struct Placed {
    uint64_t offset, end;
    uint32_t index;
  };
  MemoryPlan plan{.offsets = std::vector<uint64_t>(lifetimes.size()), .planner = name};
  std::vector<Placed> placed;  // by offset
  for (uint32_t index : order) {
    const uint64_t bytes = Rounded(lifetimes[index].bytes);
    if (bytes == 0) continue;
    uint64_t best = 0, best_gap = 0, end = 0;
    bool found = false;
    for (const Placed& p : placed) {
      if (!Overlap(lifetimes[p.index], lifetimes[index])) continue;
      if (p.offset > end && p.offset - end >= bytes && (!found || p.offset - end < best_gap)) {
        found = true;
        best = end;
        best_gap = p.offset - end;
      }
      end = std::max(end, p.end);
    }
    const uint64_t offset = found ? best : end;
    if (offset > capacity || bytes > capacity - offset) {
      plan.offsets[index] = kUnplaced;
      continue;
    }
    plan.offsets[index] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + bytes);
    const Placed entry{offset, offset + bytes, index};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry,
                                   [](const Placed& a, const Placed& b) {
                                     return std::tie(a.offset, a.end, a.index) <
                                            std::tie(b.offset, b.end, b.index);
                                   }),
                  entry);
  }
  return plan;
}

// Best fit for many tensors, in the order of their first use. Considers only the tensors alive
// then. Skips those that would end after `capacity`.
MemoryPlan InOrderOfTime(absl::Span<const Lifetime> lifetimes, uint64_t capacity = kUnplaced) {
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(lifetimes[a].first, lifetimes[b].bytes, a) <
           std::tuple(lifetimes[b].first, lifetimes[a].bytes, b);
  });
  struct Placed {
    uint64_t offset, end;
    uint32_t last;
  };
  MemoryPlan plan{.offsets = std::vector<uint64_t>(lifetimes.size()),
                  .planner = "best_fit_in_time"};
  std::vector<Placed> alive;  // by offset
  for (uint32_t index : order) {
    const Lifetime& lifetime = lifetimes[index];
    const uint64_t bytes = Rounded(lifetime.bytes);
    if (bytes == 0) continue;
    std::erase_if(alive, [&](const Placed& p) { return p.last < lifetime.first; });
    size_t best = alive.size();
    uint64_t best_gap = 0, offset = 0, end = 0;
    for (size_t k = 0; k < alive.size(); ++k) {
      const uint64_t gap = alive[k].offset - end;
      if (gap >= bytes && (best == alive.size() || gap < best_gap)) {
        best = k;
        best_gap = gap;
        offset = end;
      }
      end = alive[k].end;
    }
    if (best == alive.size()) offset = end;
    if (offset > capacity || bytes > capacity - offset) {
      plan.offsets[index] = kUnplaced;
      continue;
    }
    plan.offsets[index] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + bytes);
    alive.insert(alive.begin() + static_cast<ptrdiff_t>(best),
                 {offset, offset + bytes, lifetime.last});
  }
  return plan;
}

std::vector<uint32_t> SortedBy(absl::Span<const Lifetime> lifetimes,
                               const std::function<bool(const Lifetime&, const Lifetime&)>& less) {
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (less(lifetimes[a], lifetimes[b])) return true;
    return !less(lifetimes[b], lifetimes[a]) && a < b;
  });
  return order;
}

uint64_t Length(const Lifetime& l) { return uint64_t{l.last} - l.first + 1; }

using L = const Lifetime&;

// Orders of placement for BestFit.
struct NamedOrder {
  std::string_view name;
  std::vector<uint32_t> (*of)(absl::Span<const Lifetime>);
};
constexpr NamedOrder kOrders[] = {
    {"best_fit_by_size",
     [](absl::Span<const Lifetime> lifetimes) {
       return SortedBy(lifetimes, [](L a, L b) { return a.bytes > b.bytes; });
     }},
    {"best_fit_by_start",
     [](absl::Span<const Lifetime> lifetimes) {
       return SortedBy(lifetimes, [](L a, L b) {
         return std::tuple(a.first, b.bytes) < std::tuple(b.first, a.bytes);
       });
     }},
    {"best_fit_by_length",
     [](absl::Span<const Lifetime> lifetimes) {
       return SortedBy(lifetimes, [](L a, L b) {
         return std::tuple(Length(a), a.bytes) > std::tuple(Length(b), b.bytes);
       });
     }},
    {"best_fit_by_area",
     [](absl::Span<const Lifetime> lifetimes) {
       return SortedBy(lifetimes,
                       [](L a, L b) { return a.bytes * Length(a) > b.bytes * Length(b); });
     }},
};

BankedPlan PlanInOrder(absl::Span<const Lifetime> lifetimes, absl::Span<const MemoryBank> banks,
                       std::vector<uint32_t> order, bool many) {
  BankedPlan plan{.banks = std::vector<uint32_t>(lifetimes.size()),
                  .offsets = std::vector<uint64_t>(lifetimes.size()),
                  .bytes = std::vector<uint64_t>(banks.size()),
                  .moved = std::vector<uint64_t>(banks.size())};
  for (uint32_t bank = 0; bank < banks.size() && !order.empty(); ++bank) {
    // Equal alignment of all sizes aligns all offsets.
    const auto at = [&](uint32_t index) {
      Lifetime lifetime = lifetimes[index];
      lifetime.bytes = RoundUp(lifetime.bytes, banks[bank].alignment);
      return lifetime;
    };
    std::vector<Lifetime> rest;
    for (const uint32_t index : order) rest.push_back(at(index));
    std::vector<uint32_t> placed, skipped;
    if (bank + 1 == banks.size()) {
      placed = std::move(order);
    } else {
      std::vector<uint32_t> in_order(rest.size());
      std::iota(in_order.begin(), in_order.end(), 0);
      const MemoryPlan limited = many ? InOrderOfTime(rest, banks[bank].bytes)
                                      : BestFit(rest, in_order, "limited", banks[bank].bytes);
      for (size_t k = 0; k < rest.size(); ++k) {
        if (limited.offsets[k] == kUnplaced) {
          skipped.push_back(order[k]);
          continue;
        }
        placed.push_back(order[k]);
        plan.offsets[order[k]] = limited.offsets[k];
      }
      plan.bytes[bank] = limited.arena_bytes;
    }
    std::vector<Lifetime> together;
    for (const uint32_t index : placed) {
      together.push_back(at(index));
      plan.banks[index] = bank;
      plan.moved[bank] += lifetimes[index].moved;
    }
    const MemoryPlan smallest = PlanMemory(together);
    if (bank + 1 == banks.size() || smallest.arena_bytes < plan.bytes[bank]) {
      plan.bytes[bank] = smallest.arena_bytes;
      for (size_t k = 0; k < placed.size(); ++k) plan.offsets[placed[k]] = smallest.offsets[k];
    }
    order = std::move(skipped);
  }
  return plan;
}

absl::Status UnknownPlanner(std::string_view kind, std::string_view name,
                            absl::Span<const std::string_view> known) {
  std::string message =
      absl::StrCat("unknown ", kind, " '", absl::CHexEscape(std::string(name)), "'; known: ");
  for (size_t i = 0; i < known.size(); ++i) absl::StrAppend(&message, i == 0 ? "" : ", ", known[i]);
  return absl::InvalidArgumentError(message);
}

}  // namespace

uint64_t MemoryLowerBound(absl::Span<const Lifetime> lifetimes) {
  struct Event {
    uint64_t at;  // 2*i: starts at i; 2*i + 1: ends after i
    int64_t bytes;
  };
  std::vector<Event> events;
  for (const Lifetime& l : lifetimes) {
    const int64_t bytes = static_cast<int64_t>(Rounded(l.bytes));
    events.push_back({uint64_t{2} * l.first, bytes});
    events.push_back({uint64_t{2} * l.last + 1, -bytes});
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.at < b.at; });
  int64_t live = 0, most = 0;
  for (const Event& event : events) {
    live += event.bytes;
    most = std::max(most, live);
  }
  return static_cast<uint64_t>(most);
}

MemoryPlan PlanSlots(absl::Span<const Lifetime> lifetimes) {
  constexpr uint64_t kPage = 4096;
  struct Slot {
    uint64_t bytes = 0;
    uint32_t last = 0;  // of the current tensor
    std::vector<uint32_t> tensors = {};
  };
  std::vector<Slot> slots;
  for (uint32_t index : SortedBy(lifetimes, [](const Lifetime& a, const Lifetime& b) {
         return std::tuple(a.first, b.bytes) < std::tuple(b.first, a.bytes);
       })) {
    const Lifetime& lifetime = lifetimes[index];
    if (lifetime.bytes == 0) continue;
    // The smallest free slot that is large enough, else the largest free one, else a new one.
    Slot* best = nullptr;
    for (Slot& slot : slots) {
      if (slot.last >= lifetime.first) continue;
      const bool fits = slot.bytes >= lifetime.bytes;
      if (best == nullptr || (best->bytes >= lifetime.bytes ? fits && slot.bytes < best->bytes
                                                            : slot.bytes > best->bytes)) {
        best = &slot;
      }
    }
    if (best == nullptr) best = &slots.emplace_back();
    best->bytes = std::max(best->bytes, lifetime.bytes);
    best->last = lifetime.last;
    best->tensors.push_back(index);
  }
  MemoryPlan plan{.offsets = std::vector<uint64_t>(lifetimes.size()), .planner = "slots"};
  for (const Slot& slot : slots) {
    for (uint32_t index : slot.tensors) plan.offsets[index] = plan.arena_bytes;
    plan.arena_bytes += (slot.bytes + kPage - 1) / kPage * kPage;
  }
  return plan;
}

MemoryPlan PlanMemory(absl::Span<const Lifetime> lifetimes) {
  const uint64_t bound = MemoryLowerBound(lifetimes);
  MemoryPlan best = Bump(lifetimes);
  if (lifetimes.size() > kManyTensors) {
    MemoryPlan plan = InOrderOfTime(lifetimes);
    return plan.arena_bytes < best.arena_bytes ? plan : best;
  }
  std::vector<uint32_t> best_order(lifetimes.size());
  std::iota(best_order.begin(), best_order.end(), 0);
  const auto consider = [&](std::string_view name, const std::vector<uint32_t>& order) {
    if (best.arena_bytes == bound) return;  // optimal
    MemoryPlan plan = BestFit(lifetimes, order, name);
    if (plan.arena_bytes >= best.arena_bytes) return;
    best = std::move(plan);
    best_order = order;
  };
  for (const NamedOrder& order : kOrders) consider(order.name, order.of(lifetimes));
  // Repeatedly move tensors that reach the top of the arena to the front of the order. The order
  // changes each time: its first tensor is at offset 0 and reaches no top above the bound.
  const size_t rounds = lifetimes.size() > kSeveralTensors ? kFewRounds : kRounds;
  for (size_t round = 0; round < rounds && best.arena_bytes > bound; ++round) {
    const MemoryPlan now = BestFit(lifetimes, best_order, "best_fit_by_conflicts");
    std::vector<uint32_t> order, others;
    for (uint32_t i : best_order) {
      const bool at_top = now.offsets[i] + Rounded(lifetimes[i].bytes) == now.arena_bytes;
      (at_top ? order : others).push_back(i);
    }
    order.insert(order.end(), others.begin(), others.end());
    MemoryPlan plan = BestFit(lifetimes, order, "best_fit_by_conflicts");
    best_order = std::move(order);
    if (plan.arena_bytes < best.arena_bytes) best = std::move(plan);
  }
  return best;
}

absl::StatusOr<MemoryPlan> PlanMemoryBy(std::string_view planner,
                                        absl::Span<const Lifetime> lifetimes,
                                        absl::Span<const MemoryPlanner> own) {
  std::vector<std::string_view> known;
  for (const MemoryPlanner& one : own) {
    known.push_back(one.name);
    if (one.name != planner) continue;
    MemoryPlan plan{.offsets = one.plan(lifetimes), .planner = planner};
    bool fits = plan.offsets.size() == lifetimes.size();
    for (size_t k = 0; fits && k < lifetimes.size(); ++k) {
      constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
      fits = plan.offsets[k] <= kMost && Rounded(lifetimes[k].bytes) <= kMost - plan.offsets[k];
      plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[k] + Rounded(lifetimes[k].bytes));
    }
    if (fits) return plan;
    return absl::InternalError(absl::StrCat("memory planner '", one.name, "': expected ",
                                            lifetimes.size(), " offsets below 2^63, got ",
                                            plan.offsets.size(), " offsets, or larger ones"));
  }
  struct Standard {
    std::string_view name;
    MemoryPlan (*plan)(absl::Span<const Lifetime>);
  };
  constexpr Standard kStandard[] = {
      {"bump", Bump},
      {"best_fit_in_time",
       [](absl::Span<const Lifetime> tensors) { return InOrderOfTime(tensors); }},
      {"slots", PlanSlots},
  };
  for (const NamedOrder& order : kOrders) {
    known.push_back(order.name);
    if (order.name == planner) return BestFit(lifetimes, order.of(lifetimes), order.name);
  }
  for (const Standard& standard : kStandard) {
    known.push_back(standard.name);
    if (standard.name == planner) return standard.plan(lifetimes);
  }
  return UnknownPlanner("memory planner", planner, known);
}

bool IsBetter(const BankedPlan& a, const BankedPlan& b, uint64_t capacity) {
  const uint64_t beyond_a = a.bytes.back() - std::min(a.bytes.back(), capacity);
  const uint64_t beyond_b = b.bytes.back() - std::min(b.bytes.back(), capacity);
  if (beyond_a != beyond_b) return beyond_a < beyond_b;
  return std::lexicographical_compare(a.moved.rbegin(), a.moved.rend(), b.moved.rbegin(),
                                      b.moved.rend());
}

namespace {

// Plans in the order of this name; "": in all of them, and returns the best plan. nullopt: no such
// order; `known` has the names.
std::optional<BankedPlan> PlanInOrders(std::string_view name, absl::Span<const Lifetime> lifetimes,
                                       absl::Span<const MemoryBank> banks,
                                       std::vector<std::string_view>& known) {
  const auto density = [](L l) {
    return static_cast<double>(l.moved) / static_cast<double>(std::max<uint64_t>(l.bytes, 1)) /
           static_cast<double>(Length(l));
  };
  struct Order {
    std::string_view name;
    std::function<bool(L, L)> before;
  };
  const Order orders[] = {
      {"by_density", [&](L a, L b) { return density(a) > density(b); }},
      {"by_moved", [](L a, L b) { return a.moved > b.moved; }},
      {"by_size", [](L a, L b) { return a.bytes > b.bytes; }},
      {"by_start",
       [](L a, L b) { return std::tuple(a.first, b.bytes) < std::tuple(b.first, a.bytes); }},
  };
  const bool many = lifetimes.size() > kManyTensors;
  for (const Order& order : orders) known.push_back(order.name);
  if (!name.empty() && !absl::c_linear_search(known, name)) return std::nullopt;
  BankedPlan best;
  for (const Order& order : orders) {
    if (many ? order.name != "by_start" : !name.empty() && order.name != name) continue;
    BankedPlan plan = PlanInOrder(lifetimes, banks, SortedBy(lifetimes, order.before), many);
    plan.order = order.name;
    if (best.order.empty() || IsBetter(plan, best, banks.back().bytes)) best = std::move(plan);
  }
  return best;
}

}  // namespace

BankedPlan PlanBanks(absl::Span<const Lifetime> lifetimes, absl::Span<const MemoryBank> banks) {
  std::vector<std::string_view> known;
  return *PlanInOrders("", lifetimes, banks, known);
}

absl::StatusOr<BankedPlan> PlanBanksBy(std::string_view order, absl::Span<const Lifetime> lifetimes,
                                       absl::Span<const MemoryBank> banks) {
  std::vector<std::string_view> known;
  std::optional<BankedPlan> plan = PlanInOrders(order, lifetimes, banks, known);
  if (plan.has_value() && !order.empty()) return *std::move(plan);
  return UnknownPlanner("order of memory banks", order, known);
}

}  // namespace belay::exir
