#include "exir/emit/method_memory.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exir/emit/instruction_order.h"
#include "exir/emit/lifetimes.h"
#include "exir/emit/memory_checker.h"
#include "exir/emit/memory_planner.h"
#include "exir/emit/method_facts.h"
#include "exir/emit/storage_sharing.h"
#include "runtime/program/limits.h"
#include "runtime/program/plan.h"

namespace belay::exir {
namespace {

// Number of candidates that are planned.
constexpr size_t kPlanned = 3;
// Larger methods use a single arrangement.
constexpr int kManyInstructions = 20'000;

// A combination of instruction order and storage sharing.
struct Candidate {
  StorageSharing sharing;
  std::vector<uint32_t> order;
  std::vector<uint32_t> storages;   // ascending
  std::vector<Lifetime> lifetimes;  // parallel to `storages`
  uint64_t lower_bound = 0;
};

void Measure(const schema::Method& method, Candidate& candidate) {
  const std::vector<Interval> intervals = ComputeIntervals(method, candidate.order);
  std::vector<Interval> alive(intervals.size());
  std::vector<bool> used(intervals.size());
  for (uint32_t v = 0; v < intervals.size(); ++v) {
    const auto place = candidate.sharing.PlaceOf(v);
    if (!place.has_value()) continue;
    used[place->storage] = true;
    if (!intervals[v].empty()) alive[place->storage].Add(intervals[v]);
  }
  for (uint32_t s = 0; s < used.size(); ++s) {
    if (!used[s]) continue;
    const Interval interval = alive[s].empty() ? Interval{0, 0} : alive[s];
    candidate.storages.push_back(s);
    candidate.lifetimes.push_back(
        {.bytes = candidate.sharing.bytes(s), .first = interval.first, .last = interval.last});
  }
  candidate.lower_bound = MemoryLowerBound(candidate.lifetimes);
}

std::vector<Candidate> Candidates(const WrittenMethod& written,
                                  const MethodMemoryOptions& options) {
  const schema::Method& method = written.method;
  const bool many = method.instructions_size() > kManyInstructions;
  std::vector<SharingOptions> ways = {{.slices = true, .joins = true}};
  if (options.share && !many) {
    ways.push_back({.slices = false, .joins = true});
    ways.push_back({.slices = true, .joins = false});
    ways.push_back({.slices = false, .joins = false});
  }
  std::vector<Candidate> candidates;
  for (const SharingOptions& way : ways) {
    StorageSharing views(method, written.operators);
    if (options.share) views.ShareViews(way);
    std::vector<std::vector<uint32_t>> orders = {OriginalOrder(method)};
    if (options.reorder) orders.push_back(LowMemoryOrder(method, views, written.has_effects));
    for (std::vector<uint32_t>& order : orders) {
      Candidate candidate{views, std::move(order), {}, {}, 0};
      if (options.share) candidate.sharing.ShareDyingOperands(candidate.order, written.shapes);
      Measure(method, candidate);
      candidates.push_back(std::move(candidate));
    }
  }
  // Rank by promise. Of equals, the first wins: original order, fewest instructions.
  std::vector<size_t> ranking(candidates.size());
  std::iota(ranking.begin(), ranking.end(), 0);
  std::sort(ranking.begin(), ranking.end(), [&](size_t a, size_t b) {
    return std::tuple(candidates[a].lower_bound, a) < std::tuple(candidates[b].lower_bound, b);
  });
  std::vector<Candidate> promising;
  for (size_t k = 0; k < ranking.size() && k < kPlanned; ++k) {
    promising.push_back(std::move(candidates[ranking[k]]));
  }
  return promising;
}

// Whether the runtime only reserves addresses for an arena of this size.
bool ReservesArena(const schema::Method& method, uint64_t arena_bytes) {
  return arena_bytes > MethodPlan::kLargestFixedArena &&
         std::any_of(method.values().begin(), method.values().end(),
                     [](const schema::Value& value) {
                       return value.has_tensor() && value.tensor().dynamic_dims() != 0;
                     });
}

// Removes operators whose calls are all elided.
void DropUnusedOperators(schema::Method& method) {
  std::vector<int> renamed(method.operators_size(), -1);
  int count = 0;
  for (schema::Instruction& instruction : *method.mutable_instructions()) {
    if (!instruction.has_kernel()) continue;
    int& index = renamed[instruction.kernel().operator_()];
    if (index < 0) index = count++;
    instruction.mutable_kernel()->set_operator_(static_cast<uint32_t>(index));
  }
  std::vector<std::string> names(count);
  for (int i = 0; i < method.operators_size(); ++i) {
    if (renamed[i] >= 0) names[renamed[i]] = method.operators(i);
  }
  method.clear_operators();
  for (std::string& name : names) method.add_operators(std::move(name));
}

// Assigns memory locations and removes elided instructions.
void Apply(const Candidate& candidate, const MemoryPlan& plan, schema::Method& method,
           schema::MethodDebugInfo& debug) {
  std::vector<uint64_t> offset_of(method.values_size());
  for (size_t k = 0; k < candidate.storages.size(); ++k) {
    offset_of[candidate.storages[k]] = plan.offsets[k];
  }
  for (int v = 0; v < method.values_size(); ++v) {
    schema::Value& value = *method.mutable_values(v);
    if (const auto place = candidate.sharing.PlaceOf(v)) {
      value.mutable_tensor()->set_arena_offset(offset_of[place->storage] + place->offset);
    } else if (const auto constant = candidate.sharing.constants()[v]) {
      value.mutable_tensor()->set_constant(*constant);
    }
  }
  method.set_arena_bytes(plan.arena_bytes);
  const std::vector<bool>& elided = candidate.sharing.elided();
  std::vector<uint32_t> left(candidate.order.size() + 1, 0);
  for (size_t p = 0; p < candidate.order.size(); ++p) {
    left[p + 1] = left[p] + (elided[candidate.order[p]] ? 0 : 1);
  }
  google::protobuf::RepeatedPtrField<schema::Instruction> instructions;
  google::protobuf::RepeatedPtrField<schema::InstructionDebugInfo> infos;
  for (const uint32_t i : candidate.order) {
    if (elided[i]) continue;
    schema::Instruction& instruction = *instructions.Add();
    instruction.Swap(method.mutable_instructions(static_cast<int>(i)));
    if (instruction.has_jump()) {
      instruction.mutable_jump()->set_target(left[instruction.jump().target()]);
    } else if (instruction.has_jump_if_false()) {
      schema::JumpIfFalse* jump = instruction.mutable_jump_if_false();
      jump->set_target(left[jump->target()]);
    }
    infos.Add()->Swap(debug.mutable_instructions(static_cast<int>(i)));
  }
  method.mutable_instructions()->Swap(&instructions);
  debug.mutable_instructions()->Swap(&infos);
  DropUnusedOperators(method);
}

}  // namespace

absl::StatusOr<MethodMemory> ArrangeMemory(WrittenMethod& written,
                                           const MethodMemoryOptions& options) {
  MethodMemory memory;
  {
    Candidate plain{StorageSharing(written.method, written.operators),
                    OriginalOrder(written.method),
                    {},
                    {},
                    0};
    Measure(written.method, plain);
    memory.written_lower_bound = plain.lower_bound;
  }
  std::vector<Candidate> candidates = Candidates(written, options);
  const Candidate* best = nullptr;
  MemoryPlan plan;
  for (const Candidate& candidate : candidates) {
    if (best != nullptr && candidate.lower_bound >= plan.arena_bytes) break;
    MemoryPlan next = PlanMemory(candidate.lifetimes);
    if (best != nullptr && next.arena_bytes >= plan.arena_bytes) continue;
    plan = std::move(next);
    best = &candidate;
  }
  if (ReservesArena(written.method, plan.arena_bytes)) {
    MemoryPlan slots = PlanSlots(best->lifetimes);
    if (slots.arena_bytes <= Limits().reserved_bytes) plan = std::move(slots);
  }
  schema::Method method = written.method;
  Apply(*best, plan, method, written.debug);
  const absl::Status proof = CheckMemoryPlan(method,
                                             {.written = written.method,
                                              .order = best->order,
                                              .elided = best->sharing.elided(),
                                              .has_effects = written.has_effects},
                                             written.shapes);
  if (!proof.ok()) {
    return absl::InternalError(absl::StrCat("method '", method.name(), "', planner ",
                                            std::string(plan.planner), ": ", proof.message()));
  }
  memory.planner = std::string(plan.planner);
  memory.arena_bytes = plan.arena_bytes;
  memory.lower_bound = best->lower_bound;
  memory.elided_instructions = static_cast<uint32_t>(
      std::count(best->sharing.elided().begin(), best->sharing.elided().end(), true));
  memory.reordered = !std::is_sorted(best->order.begin(), best->order.end());
  written.method = std::move(method);
  return memory;
}

}  // namespace belay::exir
