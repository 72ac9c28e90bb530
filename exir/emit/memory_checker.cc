#include "exir/emit/memory_checker.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exir/emit/memory_sets.h"
#include "exir/emit/view_proof.h"
#include "runtime/core/dtype.h"
#include "runtime/schema/operator_facts.h"

namespace belay::exir {
namespace {

class Checker {
 public:
  Checker(const schema::Method& method, const PlannedMethod& planned,
          const std::vector<uint32_t>& shapes)
      : method_(method),
        planned_(planned),
        written_(planned.written),
        shapes_(shapes),
        slots_(method.values_size(), -1) {}

  absl::Status Run() {
    if (SameParts()) {
      CheckOrder();
      if (problems_.empty()) CheckSameInstructions();
      CheckValues();
      CollectBanks();
      CollectTensors();
      CheckState();
      CollectSteps();
      CheckElided();
      FindBlocks();
      CheckDefinitions();
      CheckWrites();
    }
    if (problems_.empty()) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("the memory plan is wrong:\n  ", absl::StrJoin(problems_, "\n  ")));
  }

 private:
  struct Step {
    std::vector<uint32_t> reads, writes;  // arena tensors, as slots
    std::vector<uint32_t> next;           // successor positions; size() is the end
    bool moves_nothing = false;           // elided, or a kept view in place
  };
  struct Block {
    uint32_t begin, end;       // positions
    std::vector<size_t> next;  // successor blocks; blocks_.size() is the end
  };

  void Problem(std::string text) {
    if (problems_.size() < 20) problems_.push_back(std::move(text));
  }
  std::string Name(uint32_t slot) const {
    return absl::StrCat("value ", values_[slot], " [", regions_[slot].begin, ", ",
                        regions_[slot].end, ")");
  }
  const schema::Instruction& Written(uint32_t i) const {
    return written_.instructions(static_cast<int>(i));
  }
  // The instruction at a position.
  const schema::Instruction& At(uint32_t position) const {
    return Written(planned_.order[position]);
  }
  const schema::Tensor& TensorOf(uint32_t value) const {
    return method_.values(static_cast<int>(value)).tensor();
  }

  static uint64_t Bytes(const schema::Tensor& tensor) {
    uint64_t bytes = DTypeSize(static_cast<DType>(tensor.dtype()));
    for (int64_t size : tensor.sizes()) bytes *= static_cast<uint64_t>(size);
    return bytes;
  }

  // --- O1, O2: the same computation ---

  static std::string_view OperatorName(const schema::Method& method,
                                       const schema::Instruction& instruction) {
    const uint32_t op = instruction.kernel().operator_();
    if (op >= static_cast<uint32_t>(method.operators_size())) return "";
    return method.operators(static_cast<int>(op));
  }

  bool SameParts() {
    const size_t count = static_cast<size_t>(written_.instructions_size());
    if (planned_.order.size() != count || planned_.elided.size() != count ||
        planned_.has_effects.size() != count || method_.values_size() != written_.values_size()) {
      Problem("O1: the number of instructions or values differs from the original");
      return false;
    }
    std::vector<bool> seen(count);
    for (uint32_t i : planned_.order) {
      if (i >= count || seen[i]) {
        Problem(absl::StrCat("O1: instruction ", i, " runs twice or does not exist"));
        return false;
      }
      seen[i] = true;
    }
    for (const schema::Instruction& instruction : written_.instructions()) {
      const bool jump = instruction.has_jump(), branch = instruction.has_jump_if_false();
      const uint32_t target = jump     ? instruction.jump().target()
                              : branch ? instruction.jump_if_false().target()
                                       : 0;
      if (target > count) {
        Problem(absl::StrCat("O1: a jump leads to ", target));
        return false;
      }
    }
    return true;
  }

  // Collects the reads and writes of an instruction of `written`; lists are expanded.
  void Accesses(uint32_t i, std::vector<uint32_t>& reads, std::vector<uint32_t>& writes) const {
    const schema::Instruction& instruction = Written(i);
    const auto add = [&](uint32_t value, std::vector<uint32_t>& to) {
      const schema::Value& v = written_.values(static_cast<int>(value));
      if (v.has_list()) {
        to.insert(to.end(), v.list().elements().begin(), v.list().elements().end());
      } else {
        to.push_back(value);
      }
    };
    if (instruction.has_kernel()) {
      const schema::KernelCall& call = instruction.kernel();
      for (uint32_t v : call.arguments()) add(v, reads);
      for (uint32_t v : call.outputs()) add(v, writes);
      const std::string_view op = OperatorName(written_, instruction);
      if (call.arguments_size() > 0 && op.ends_with(".out")) {
        add(call.arguments(call.arguments_size() - 1), writes);
      }
      if (call.arguments_size() > 0 && IsInPlaceOperator(op)) add(call.arguments(0), writes);
    } else if (instruction.has_delegate()) {
      for (uint32_t v : instruction.delegate().arguments()) add(v, reads);
      for (uint32_t v : instruction.delegate().outputs()) add(v, writes);
    } else if (instruction.has_move()) {
      add(instruction.move().from(), reads);
      add(instruction.move().to(), writes);
    } else if (instruction.has_jump_if_false()) {
      add(instruction.jump_if_false().condition(), reads);
    }
  }

  bool HasEffects(uint32_t i) const {
    const schema::Instruction& instruction = Written(i);
    return planned_.has_effects[i] || instruction.has_delegate() ||
           (instruction.has_kernel() && instruction.kernel().outputs_size() == 0);
  }

  void CheckOrder() {
    const uint32_t count = static_cast<uint32_t>(planned_.order.size());
    std::vector<bool> starts(count + 1);
    starts[0] = true;
    for (uint32_t i = 0; i < count; ++i) {
      const schema::Instruction& instruction = Written(i);
      if (instruction.has_jump()) starts[instruction.jump().target()] = starts[i + 1] = true;
      if (instruction.has_jump_if_false()) {
        starts[instruction.jump_if_false().target()] = starts[i + 1] = true;
      }
    }
    std::vector<uint32_t> stretch(count), position(count);
    for (uint32_t i = 0, current = 0; i < count; ++i) {
      if (starts[i]) current = i;
      stretch[i] = current;
    }
    for (uint32_t p = 0; p < count; ++p) {
      const uint32_t i = planned_.order[p];
      position[i] = p;
      if (stretch[i] != stretch[p]) {
        Problem(absl::StrCat("O1: instruction ", i, " runs at ", p,
                             ", beyond a jump or the target of one"));
      }
      if ((Written(i).has_jump() || Written(i).has_jump_if_false()) && i != p) {
        Problem(absl::StrCat("O1: the jump ", i, " runs at ", p));
      }
    }
    struct Last {
      std::optional<uint32_t> writer, reader;  // instructions; `reader` is the one that runs last
    };
    std::vector<Last> last(written_.values_size());
    std::optional<uint32_t> effect;
    const auto after = [&](std::optional<uint32_t> first, uint32_t second, std::string_view what) {
      if (!first.has_value() || *first == second || position[*first] < position[second]) return;
      Problem(absl::StrCat("O1: instruction ", second, " runs before ", *first, " and ",
                           std::string(what)));
    };
    for (uint32_t i = 0; i < count; ++i) {
      std::vector<uint32_t> reads, writes;
      Accesses(i, reads, writes);
      for (uint32_t v : reads) {
        after(last[v].writer, i, absl::StrCat("reads value ", v, ", which that writes"));
        if (!last[v].reader.has_value() || position[*last[v].reader] < position[i]) {
          last[v].reader = i;
        }
      }
      for (uint32_t v : writes) {
        after(last[v].writer, i, absl::StrCat("writes value ", v, " as well"));
        after(last[v].reader, i, absl::StrCat("writes value ", v, ", which that reads"));
        last[v] = {i, std::nullopt};
      }
      if (HasEffects(i)) {
        after(effect, i, "both have effects");
        effect = i;
      }
    }
  }

  void CheckSameInstructions() {
    schema::Method now = method_, before = written_;
    for (schema::Method* m : {&now, &before}) {
      m->clear_values();
      m->clear_instructions();
      m->clear_arena_bytes();
      m->clear_banks();
      m->clear_operators();  // instructions are compared by operator name
    }
    if (now.SerializeAsString() != before.SerializeAsString()) {
      Problem("O2: inputs, outputs, state or delegates changed");
    }
    // Number of kept instructions before each position.
    std::vector<uint32_t> left(planned_.order.size() + 1, 0);
    for (uint32_t p = 0; p < planned_.order.size(); ++p) {
      left[p + 1] = left[p] + (planned_.elided[planned_.order[p]] ? 0 : 1);
    }
    if (left.back() != static_cast<uint32_t>(method_.instructions_size())) {
      Problem(absl::StrCat("O2: ", left.back(), " instructions should be left, there are ",
                           method_.instructions_size()));
      return;
    }
    for (uint32_t p = 0; p < planned_.order.size(); ++p) {
      const uint32_t i = planned_.order[p];
      if (planned_.elided[i]) continue;
      schema::Instruction expected = Written(i);
      if (expected.has_jump()) {
        expected.mutable_jump()->set_target(left[expected.jump().target()]);
      }
      if (expected.has_jump_if_false()) {
        schema::JumpIfFalse* jump = expected.mutable_jump_if_false();
        jump->set_target(left[jump->target()]);
      }
      const schema::Instruction& found = method_.instructions(static_cast<int>(left[p]));
      bool same_operator = true;
      if (expected.has_kernel() && found.has_kernel()) {
        same_operator = OperatorName(method_, found) == OperatorName(written_, expected);
        // The operator's index may differ.
        expected.mutable_kernel()->set_operator_(found.kernel().operator_());
      }
      if (!same_operator || expected.SerializeAsString() != found.SerializeAsString()) {
        Problem(absl::StrCat("O2: instruction ", left[p], " is not the one written as ", i));
      }
    }
  }

  void CheckValues() {
    for (int v = 0; v < method_.values_size(); ++v) {
      schema::Value now = method_.values(v), before = written_.values(v);
      if (now.has_tensor() && before.has_tensor() &&
          before.tensor().location_case() == schema::Tensor::kArenaOffset &&
          (now.tensor().location_case() == schema::Tensor::kArenaOffset ||
           now.tensor().location_case() == schema::Tensor::kConstant)) {
        // M4 rejects writes to constants, and V1 verifies elided copies of them.
        now.mutable_tensor()->clear_location();
        before.mutable_tensor()->clear_location();
      }
      if (now.SerializeAsString() != before.SerializeAsString()) {
        Problem(absl::StrCat("O2: value ", v, " changed"));
      }
    }
  }

  // --- Memory ---

  void CollectBanks() {
    const int count = method_.banks_size();
    if (static_cast<size_t>(count) != planned_.banks.size()) {
      Problem(absl::StrCat("M2: the method has ", count, " banks, planned are ",
                           planned_.banks.size()));
    }
    uint64_t end = 0;
    for (int i = 0; i < count; ++i) {
      const schema::MemoryBank& bank = method_.banks(i);
      if (static_cast<size_t>(i) < planned_.banks.size()) {
        const MemoryBank& given = planned_.banks[i];
        if (bank.name() != given.name || bank.alignment() != given.alignment ||
            bank.bytes() > given.bytes) {
          Problem(absl::StrCat("M2: bank ", i, " is '", bank.name(), "' with ", bank.bytes(),
                               " bytes, planned is '", given.name, "' with at most ", given.bytes));
        }
      }
      banks_.push_back({end, end + bank.bytes()});
      alignments_.push_back(bank.alignment());
      end += bank.bytes();
    }
    if (count == 0) {
      banks_.push_back({0, method_.arena_bytes()});
      alignments_.push_back(64);
    } else if (end != method_.arena_bytes()) {
      Problem(absl::StrCat("M2: the banks end at ", end, ", the arena at ", method_.arena_bytes()));
    }
  }

  // M2: the tensor is inside a bank, at its alignment.
  void CheckPlace(uint32_t value, const Region& region) {
    std::string problem;
    for (size_t b = 0; b < banks_.size(); ++b) {
      if (region.begin < banks_[b].begin || region.end > banks_[b].end) continue;
      if ((region.begin - banks_[b].begin) % alignments_[b] == 0) return;
      problem = absl::StrCat("M2: value ", value, " is not aligned: offset ",
                             region.begin - banks_[b].begin);
    }
    Problem(!problem.empty()     ? problem
            : banks_.size() == 1 ? absl::StrCat("M2: value ", value, " ends at ", region.end,
                                                ", the arena at ", method_.arena_bytes())
                                 : absl::StrCat("M2: value ", value, " [", region.begin, ", ",
                                                region.end, ") is not inside a bank"));
  }

  void CollectTensors() {
    for (int v = 0; v < method_.values_size(); ++v) {
      const schema::Value& value = method_.values(v);
      if (!value.has_tensor() || value.tensor().location_case() != schema::Tensor::kArenaOffset) {
        continue;
      }
      const uint64_t begin = value.tensor().arena_offset();
      const Region region{begin, begin + Bytes(value.tensor())};
      slots_[v] = static_cast<int>(values_.size());
      values_.push_back(v);
      regions_.push_back(region);
      CheckPlace(static_cast<uint32_t>(v), region);
    }
  }

  void CheckState() {
    std::vector<std::pair<Region, uint32_t>> state;
    for (const schema::StateBuffer& buffer : method_.state()) {
      const schema::Tensor& tensor = TensorOf(buffer.value());
      const Region region{tensor.state_offset(), tensor.state_offset() + Bytes(tensor)};
      if (region.begin % 64 != 0 || region.end > method_.state_bytes()) {
        Problem(absl::StrCat("M2: state '", buffer.name(), "' [", region.begin, ", ", region.end,
                             ") does not fit in ", method_.state_bytes(), " bytes"));
      }
      state.emplace_back(region, buffer.value());
    }
    std::sort(state.begin(), state.end(),
              [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    for (size_t i = 1; i < state.size(); ++i) {
      if (state[i - 1].first.Overlaps(state[i].first)) {
        Problem(absl::StrCat("M3: state values ", state[i - 1].second, " and ", state[i].second,
                             " overlap"));
      }
    }
  }

  void CollectSteps() {
    for (uint32_t p = 0; p < planned_.order.size(); ++p) {
      const uint32_t i = planned_.order[p];
      const schema::Instruction& instruction = Written(i);
      std::vector<uint32_t> reads, writes;
      Accesses(i, reads, writes);
      Step step;
      step.moves_nothing = planned_.elided[i];
      for (uint32_t v : reads) {
        if (slots_[v] >= 0) step.reads.push_back(static_cast<uint32_t>(slots_[v]));
      }
      for (uint32_t v : writes) {
        if (slots_[v] >= 0) {
          step.writes.push_back(static_cast<uint32_t>(slots_[v]));
        } else if (!planned_.elided[i] && method_.values(static_cast<int>(v)).has_tensor() &&
                   TensorOf(v).location_case() == schema::Tensor::kConstant) {
          Problem(absl::StrCat("M4: instruction ", i, " writes to the constant value ", v));
        }
      }
      if (instruction.has_jump()) {
        step.next = {instruction.jump().target()};
      } else {
        step.next = {p + 1};
        if (instruction.has_jump_if_false()) {
          step.next.push_back(instruction.jump_if_false().target());
        }
      }
      if (!step.moves_nothing) CheckOperands(i, instruction, step);
      steps_.push_back(std::move(step));
    }
    for (uint32_t output : method_.outputs()) {
      if (slots_[output] >= 0) results_.push_back(static_cast<uint32_t>(slots_[output]));
    }
  }

  // M5.
  void CheckOperands(uint32_t i, const schema::Instruction& instruction, Step& step) {
    std::vector<uint32_t> writes = step.writes;
    std::sort(writes.begin(), writes.end());
    writes.erase(std::unique(writes.begin(), writes.end()), writes.end());
    std::sort(writes.begin(), writes.end(),
              [&](uint32_t a, uint32_t b) { return regions_[a].begin < regions_[b].begin; });
    for (size_t k = 1; k < writes.size(); ++k) {
      if (regions_[writes[k - 1]].Overlaps(regions_[writes[k]])) {
        Problem(absl::StrCat("M5: ", Name(writes[k - 1]), " and ", Name(writes[k]),
                             " are both written by instruction ", i));
      }
    }
    const OutputOverArgument over = instruction.has_kernel()
                                        ? FactsOf(OperatorName(written_, instruction)).output_over
                                        : OutputOverArgument::kNever;
    for (uint32_t read : step.reads) {
      for (uint32_t write : writes) {
        if (read == write || !regions_[read].Overlaps(regions_[write])) continue;
        std::string problem = "it does not work in place";
        if (over == OutputOverArgument::kSameBytes && step.reads[0] == read) {
          problem = ProveKeptViewIsInPlace(method_, OperatorName(written_, instruction),
                                           instruction.kernel());
          if (problem.empty()) step.moves_nothing = true;
        } else if (over == OutputOverArgument::kElementwise) {
          problem = InStep(values_[read], values_[write]);
        }
        if (!problem.empty()) {
          Problem(absl::StrCat("M5: instruction ", i, " writes ", Name(write),
                               " over its argument ", Name(read), ": ", problem));
        }
      }
    }
  }

  std::string InStep(uint32_t read, uint32_t write) const {
    const schema::Tensor &a = TensorOf(read), &b = TensorOf(write);
    if (a.arena_offset() != b.arena_offset()) return "it starts elsewhere";
    if (a.dtype() != b.dtype()) return "its dtypes differ";
    if (a.dim_order() != b.dim_order() || a.dynamic_dims() != b.dynamic_dims() ||
        !std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin(), b.sizes().end())) {
      return "its sizes or orders differ";
    }
    const bool same = read < shapes_.size() && write < shapes_.size()
                          ? shapes_[read] == shapes_[write]
                          : a.dynamic_dims() == 0;
    return same ? "" : "its symbolic sizes differ";
  }

  // V1.
  void CheckElided() {
    for (uint32_t i = 0; i < planned_.elided.size(); ++i) {
      if (!planned_.elided[i]) continue;
      const std::string problem =
          Written(i).has_kernel()
              ? ProveBytesAreInPlace(method_, OperatorName(written_, Written(i)),
                                     Written(i).kernel())
              : "it is not an operator";
      if (!problem.empty()) {
        Problem(absl::StrCat("V1: instruction ", i, " cannot be elided: ", problem));
      }
    }
    // A value that was moved to a constant has no writer that runs.
    std::vector<bool> copied(written_.values_size());
    for (uint32_t i = 0; i < planned_.elided.size(); ++i) {
      std::vector<uint32_t> reads, writes;
      if (planned_.elided[i]) Accesses(i, reads, writes);
      for (uint32_t v : writes) copied[v] = true;
    }
    for (int v = 0; v < method_.values_size(); ++v) {
      const schema::Value &now = method_.values(v), &before = written_.values(v);
      if (now.has_tensor() && now.tensor().location_case() == schema::Tensor::kConstant &&
          before.tensor().location_case() != schema::Tensor::kConstant && !copied[v]) {
        Problem(absl::StrCat("V1: value ", v, " became a constant"));
      }
    }
  }

  // --- Data flow ---

  void FindBlocks() {
    const uint32_t count = static_cast<uint32_t>(steps_.size());
    std::set<uint32_t> starts = {0};
    for (uint32_t p = 0; p < count; ++p) {
      if (At(p).has_jump() || At(p).has_jump_if_false()) {
        starts.insert(p + 1);
        for (uint32_t next : steps_[p].next) starts.insert(next);
      }
    }
    starts.erase(count);
    std::map<uint32_t, size_t> index;
    for (uint32_t start : starts) {
      index.emplace(start, blocks_.size());
      blocks_.push_back({start, count, {}});
    }
    index.emplace(count, blocks_.size());
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (b + 1 < blocks_.size()) blocks_[b].end = blocks_[b + 1].begin;
      for (uint32_t next : steps_[blocks_[b].end - 1].next) {
        blocks_[b].next.push_back(index.at(next));
      }
    }
  }

  // M4, forward analysis: tensors that are definitely written at the start of a block.
  void CheckDefinitions() {
    std::vector<Bits> written(blocks_.size() + 1, Bits(values_.size(), /*all=*/true));
    written[0] = Bits(values_.size());
    std::vector<bool> reached(blocks_.size() + 1);
    reached[0] = true;
    std::set<size_t> pending = {0};
    while (!pending.empty()) {
      const size_t b = *pending.begin();
      pending.erase(pending.begin());
      if (b == blocks_.size()) continue;
      Bits after = written[b];
      for (uint32_t p = blocks_[b].begin; p < blocks_[b].end; ++p) {
        for (uint32_t slot : steps_[p].writes) after.Set(slot);
      }
      for (size_t next : blocks_[b].next) {
        const bool changed = written[next].Keep(after);
        if (changed || !reached[next]) pending.insert(next);
        reached[next] = true;
      }
    }
    const auto read = [&](const Bits& known, uint32_t slot, uint32_t position) {
      if (known.Get(slot)) return;
      Problem(absl::StrCat("M4: ", Name(slot), " is read by instruction ",
                           position < steps_.size() ? planned_.order[position] : position,
                           " but not written on every path"));
    };
    for (size_t b = 0; b <= blocks_.size(); ++b) {
      if (!reached[b]) continue;
      Bits known = written[b];
      if (b == blocks_.size()) {
        for (uint32_t slot : results_) read(known, slot, static_cast<uint32_t>(steps_.size()));
        break;
      }
      for (uint32_t p = blocks_[b].begin; p < blocks_[b].end; ++p) {
        for (uint32_t slot : steps_[p].reads) read(known, slot, p);
        for (uint32_t slot : steps_[p].writes) known.Set(slot);
      }
    }
  }

  // Backward liveness over blocks, then M1 within each block.
  void CheckWrites() {
    std::vector<Bits> live(blocks_.size() + 1, Bits(values_.size()));  // live-in
    for (uint32_t slot : results_) live[blocks_.size()].Set(slot);
    std::vector<Bits> after(blocks_.size(), Bits(values_.size()));
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t b = blocks_.size(); b-- > 0;) {
        for (size_t next : blocks_[b].next) after[b].Add(live[next]);
        Bits before = after[b];
        for (uint32_t p = blocks_[b].end; p-- > blocks_[b].begin;) {
          for (uint32_t slot : steps_[p].writes) before.Clear(slot);
          for (uint32_t slot : steps_[p].reads) before.Set(slot);
        }
        if (live[b].Add(before)) changed = true;
      }
    }
    Coverage coverage(regions_);
    Bits now(values_.size());
    const auto set = [&](uint32_t slot, bool alive) {
      if (now.Get(slot) == alive) return;
      if (alive) {
        now.Set(slot);
      } else {
        now.Clear(slot);
      }
      coverage.Add(regions_[slot], alive ? 1 : -1);
    };
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (uint32_t slot = 0; slot < values_.size(); ++slot) set(slot, after[b].Get(slot));
      for (uint32_t p = blocks_[b].end; p-- > blocks_[b].begin;) {
        for (uint32_t slot : steps_[p].writes) set(slot, false);
        if (!steps_[p].moves_nothing) {
          for (uint32_t slot : steps_[p].writes) {
            if (coverage.Any(regions_[slot])) ReportClash(slot, now, planned_.order[p]);
          }
        }
        for (uint32_t slot : steps_[p].reads) set(slot, true);
      }
    }
  }

  void ReportClash(uint32_t slot, const Bits& live, uint32_t instruction) {
    for (uint32_t other = 0; other < values_.size(); ++other) {
      if (!live.Get(other) || !regions_[slot].Overlaps(regions_[other])) continue;
      if (reported_.insert({slot, other}).second) {
        Problem(absl::StrCat("M1: instruction ", instruction, " writes ", Name(slot), " over ",
                             Name(other), ", which is needed later"));
      }
    }
  }

  const schema::Method& method_;
  const PlannedMethod& planned_;
  const schema::Method& written_;
  const std::vector<uint32_t>& shapes_;
  std::vector<Region> banks_;         // in the arena
  std::vector<uint64_t> alignments_;  // by bank
  std::vector<int> slots_;            // value → slot, -1 outside the arena
  std::vector<uint32_t> values_;      // slot → value
  std::vector<Region> regions_;       // by slot
  std::vector<Step> steps_;           // by position
  std::vector<Block> blocks_;
  std::vector<uint32_t> results_;
  std::set<std::pair<uint32_t, uint32_t>> reported_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::Status CheckMemoryPlan(const schema::Method& method, const PlannedMethod& planned,
                             const std::vector<uint32_t>& shapes) {
  return Checker(method, planned, shapes).Run();
}

absl::Status CheckMemoryPlan(const schema::Method& method) {
  std::vector<uint32_t> order(method.instructions_size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<bool> none(method.instructions_size());
  return CheckMemoryPlan(
      method, {.written = method, .order = order, .elided = none, .has_effects = none}, {});
}

}  // namespace belay::exir
