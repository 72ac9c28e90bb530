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
#include "exir/emit/method_facts.h"
#include "exir/emit/storage_sharing.h"
#include "runtime/core/annotate.h"
#include "runtime/core/status_macros.h"
#include "runtime/program/limits.h"
#include "runtime/program/plan.h"
#include "runtime/schema/file_format.h"

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

// Bytes of the operands of all instructions that run, by storage.
std::vector<uint64_t> MovedBytes(const schema::Method& method, const StorageSharing& sharing) {
  std::vector<uint64_t> moved(method.values_size());
  for (int i = 0; i < method.instructions_size(); ++i) {
    if (sharing.elided()[i]) continue;
    const Operands operands = OperandsOf(method, method.instructions(i));
    for (const std::vector<uint32_t>* values : {&operands.reads, &operands.writes}) {
      for (const uint32_t v : *values) {
        const auto place = sharing.PlaceOf(v);
        if (place.has_value()) {
          moved[place->storage] += TensorBytes(method.values(static_cast<int>(v)).tensor());
        }
      }
    }
  }
  return moved;
}

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
  uint64_t alignment = kTensorAlignment;
  for (const MemoryBank& bank : options.banks) alignment = std::max(alignment, bank.alignment);
  std::vector<SharingOptions> ways = {{.slices = true, .joins = true, .alignment = alignment}};
  if (options.share && !many) {
    ways.push_back({.slices = false, .joins = true, .alignment = alignment});
    ways.push_back({.slices = true, .joins = false, .alignment = alignment});
    ways.push_back({.slices = false, .joins = false, .alignment = alignment});
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

// Describes the value that owns a storage by the instruction that writes it.
std::string DescribeStorage(const WrittenMethod& written, uint32_t value) {
  const schema::Method& method = written.method;
  for (int i = 0; i < method.instructions_size(); ++i) {
    const std::vector<uint32_t> writes = OperandsOf(method, method.instructions(i)).writes;
    if (std::find(writes.begin(), writes.end(), value) == writes.end()) continue;
    return written.describe != nullptr ? written.describe(static_cast<uint32_t>(i))
                                       : std::string(OperatorOf(method, method.instructions(i)));
  }
  return absl::StrCat("value ", value);
}

// kResourceExhausted, for a plan whose last bank exceeds its capacity.
absl::Status NoRoom(const WrittenMethod& written, const Candidate& candidate,
                    const BankedPlan& plan, absl::Span<const MemoryBank> banks) {
  constexpr size_t kShown = 5;
  const uint32_t last = static_cast<uint32_t>(banks.size() - 1);
  // The instruction at which the last bank has the most live bytes.
  const std::vector<Lifetime>& lifetimes = candidate.lifetimes;
  std::vector<int64_t> growth(candidate.order.size() + 2);
  for (size_t k = 0; k < lifetimes.size(); ++k) {
    if (plan.banks[k] != last) continue;
    growth[lifetimes[k].first] += static_cast<int64_t>(lifetimes[k].bytes);
    growth[lifetimes[k].last + 1] -= static_cast<int64_t>(lifetimes[k].bytes);
  }
  std::partial_sum(growth.begin(), growth.end(), growth.begin());
  const auto at =
      static_cast<uint32_t>(std::max_element(growth.begin(), growth.end()) - growth.begin());
  std::string message = absl::StrCat("method '", written.method.name(),
                                     "': the memory banks have no room for all values");
  for (uint32_t bank = 0; bank < banks.size(); ++bank) {
    absl::StrAppend(&message, "\n  bank '", banks[bank].name, "': capacity ", banks[bank].bytes,
                    " bytes, ", bank == last ? "required " : "peak ", plan.bytes[bank], " bytes");
    std::vector<size_t> live;
    for (size_t k = 0; k < lifetimes.size(); ++k) {
      if (plan.banks[k] == bank && lifetimes[k].bytes > 0 && lifetimes[k].first <= at &&
          at <= lifetimes[k].last) {
        live.push_back(k);
      }
    }
    std::sort(live.begin(), live.end(), [&](size_t a, size_t b) {
      return std::tuple(lifetimes[b].bytes, a) < std::tuple(lifetimes[a].bytes, b);
    });
    for (size_t k = 0; k < std::min(live.size(), kShown); ++k) {
      absl::StrAppend(&message, "\n    ", lifetimes[live[k]].bytes,
                      " bytes: ", DescribeStorage(written, candidate.storages[live[k]]));
    }
    if (live.size() > kShown) {
      absl::StrAppend(&message, "\n    and ", live.size() - kShown, " smaller live values");
    }
  }
  return absl::ResourceExhaustedError(message);
}

// The plan of a candidate, and the distribution over banks if there are any.
struct Planned {
  const Candidate* candidate = nullptr;
  MemoryPlan plan;
  BankedPlan banked;
};

absl::StatusOr<Planned> PlanInBanks(const schema::Method& method, const Candidate& candidate,
                                    const MethodMemoryOptions& options) {
  const std::vector<uint64_t> moved = MovedBytes(method, candidate.sharing);
  std::vector<Lifetime> lifetimes = candidate.lifetimes;
  for (size_t k = 0; k < lifetimes.size(); ++k) lifetimes[k].moved = moved[candidate.storages[k]];
  Planned planned{&candidate, {}, {}};
  if (options.planner.empty()) {
    planned.banked = PlanBanks(lifetimes, options.banks);
  } else {
    ABSL_ASSIGN_OR_RETURN(planned.banked, PlanBanksBy(options.planner, lifetimes, options.banks));
  }
  std::vector<uint64_t> begins;
  for (const uint64_t bytes : planned.banked.bytes) {
    begins.push_back(planned.plan.arena_bytes);
    planned.plan.arena_bytes += bytes;
  }
  for (size_t k = 0; k < planned.banked.banks.size(); ++k) {
    planned.plan.offsets.push_back(begins[planned.banked.banks[k]] + planned.banked.offsets[k]);
  }
  planned.plan.planner = planned.banked.order;
  return planned;
}

absl::StatusOr<MemoryPlan> PlanArena(absl::Span<const Lifetime> lifetimes,
                                     const MethodMemoryOptions& options) {
  if (options.planner.empty()) return PlanMemory(lifetimes);
  return PlanMemoryBy(options.planner, lifetimes, options.own_planners);
}

absl::StatusOr<Planned> PlanCandidates(const schema::Method& method,
                                       const std::vector<Candidate>& candidates,
                                       const MethodMemoryOptions& options) {
  Planned best;
  for (const Candidate& candidate : candidates) {
    if (options.banks.empty()) {
      if (best.candidate != nullptr && candidate.lower_bound >= best.plan.arena_bytes) break;
      ABSL_ASSIGN_OR_RETURN(MemoryPlan plan, PlanArena(candidate.lifetimes, options));
      if (best.candidate != nullptr && plan.arena_bytes >= best.plan.arena_bytes) continue;
      best = {&candidate, std::move(plan), {}};
    } else {
      ABSL_ASSIGN_OR_RETURN(Planned next, PlanInBanks(method, candidate, options));
      if (best.candidate == nullptr ||
          IsBetter(next.banked, best.banked, options.banks.back().bytes)) {
        best = std::move(next);
      }
    }
  }
  return best;
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
  absl::StatusOr<Planned> planned = PlanCandidates(written.method, candidates, options);
  if (!planned.ok()) {
    return Annotate(planned.status(), absl::StrCat("method '", written.method.name(), "'"));
  }
  auto& [best, plan, banked] = *planned;
  for (size_t i = 0; i < options.banks.size(); ++i) {
    const MemoryBank& bank = options.banks[i];
    if (banked.bytes[i] > bank.bytes) return NoRoom(written, *best, banked, options.banks);
    memory.banks.push_back({bank, banked.bytes[i], banked.moved[i]});
  }
  if (options.banks.empty() && options.planner.empty() &&
      ReservesArena(written.method, plan.arena_bytes)) {
    MemoryPlan slots = PlanSlots(best->lifetimes);
    if (slots.arena_bytes <= Limits().reserved_bytes) plan = std::move(slots);
  }
  schema::Method method = written.method;
  Apply(*best, plan, method, written.debug);
  for (const BankUse& use : memory.banks) {
    schema::MemoryBank* bank = method.add_banks();
    bank->set_name(use.bank.name);
    bank->set_bytes(use.bytes);
    bank->set_alignment(use.bank.alignment);
  }
  const absl::Status proof = CheckMemoryPlan(method,
                                             {.written = written.method,
                                              .order = best->order,
                                              .elided = best->sharing.elided(),
                                              .has_effects = written.has_effects,
                                              .banks = options.banks},
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
