#include "exir/emit/memory_checker.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/core/dtype.h"

namespace belay::exir {
namespace {

// A set of tensors as bits. Dense, since liveness has one per instruction.
class Bits {
 public:
  explicit Bits(size_t size) : words_((size + 63) / 64) {}
  void Set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  void Clear(size_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
  bool Get(size_t i) const { return (words_[i / 64] >> (i % 64)) & 1; }
  // Whether something was added.
  bool Add(const Bits& other) {
    bool changed = false;
    for (size_t w = 0; w < words_.size(); ++w) {
      const uint64_t merged = words_[w] | other.words_[w];
      changed = changed || merged != words_[w];
      words_[w] = merged;
    }
    return changed;
  }
  bool Keep(const Bits& other) {
    bool changed = false;
    for (size_t w = 0; w < words_.size(); ++w) {
      const uint64_t common = words_[w] & other.words_[w];
      changed = changed || common != words_[w];
      words_[w] = common;
    }
    return changed;
  }
  template <class Fn>
  void ForEach(Fn fn) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        fn(w * 64 + static_cast<size_t>(__builtin_ctzll(word)));
      }
    }
  }
  bool operator==(const Bits&) const = default;

 private:
  std::vector<uint64_t> words_;
};

struct Region {
  uint64_t begin = 0, end = 0;
  bool Meets(const Region& o) const { return begin < o.end && o.begin < end; }
};

class Checker {
 public:
  explicit Checker(const schema::Method& method)
      : method_(method), slots_(method.values_size(), -1) {}

  absl::Status Run() {
    CollectTensors();
    CheckState();
    CollectInstructions();
    CheckDefinitions();
    CheckLiveRanges();
    if (problems_.empty()) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("the memory plan is wrong:\n  ", absl::StrJoin(problems_, "\n  ")));
  }

 private:
  struct Step {
    std::vector<uint32_t> reads, writes;  // arena tensors, as slots
    std::vector<uint32_t> next;           // instructions that may follow; size() is the end
  };

  void Problem(std::string text) {
    if (problems_.size() < 20) problems_.push_back(std::move(text));
  }
  std::string Name(uint32_t slot) const {
    return absl::StrCat("value ", values_[slot], " [", regions_[slot].begin, ", ",
                        regions_[slot].end, ")");
  }

  static uint64_t Bytes(const schema::Tensor& tensor) {
    uint64_t bytes = DTypeSize(static_cast<DType>(tensor.dtype()));
    for (int64_t size : tensor.sizes()) bytes *= static_cast<uint64_t>(size);
    return bytes;
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
      if (begin % 64 != 0)
        Problem(absl::StrCat("M2: value ", v, " is not aligned: offset ", begin));
      if (region.end > method_.arena_bytes()) {
        Problem(absl::StrCat("M2: value ", v, " ends at ", region.end, ", the arena at ",
                             method_.arena_bytes()));
      }
    }
  }

  void CheckState() {
    std::vector<std::pair<Region, uint32_t>> state;
    for (const schema::StateBuffer& buffer : method_.state()) {
      const schema::Tensor& tensor = method_.values(buffer.value()).tensor();
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
      if (state[i - 1].first.Meets(state[i].first)) {
        Problem(absl::StrCat("M3: state values ", state[i - 1].second, " and ", state[i].second,
                             " overlap"));
      }
    }
  }

  void Flatten(uint32_t value, std::vector<uint32_t>& slots, bool write, int instruction) {
    const schema::Value& v = method_.values(value);
    if (v.has_list()) {
      for (uint32_t element : v.list().elements()) Flatten(element, slots, write, instruction);
      return;
    }
    if (slots_[value] >= 0) slots.push_back(static_cast<uint32_t>(slots_[value]));
    if (write && v.has_tensor() && v.tensor().location_case() == schema::Tensor::kConstant) {
      Problem(
          absl::StrCat("M4: instruction ", instruction, " writes to the constant value ", value));
    }
  }

  void CollectInstructions() {
    for (int i = 0; i < method_.instructions_size(); ++i) {
      const schema::Instruction& instruction = method_.instructions(i);
      Step step;
      const auto collect = [&](const auto& arguments, const auto& outputs) {
        for (uint32_t v : arguments) Flatten(v, step.reads, false, i);
        for (uint32_t v : outputs) Flatten(v, step.writes, true, i);
      };
      step.next.push_back(i + 1);
      switch (instruction.kind_case()) {
        case schema::Instruction::kKernel:
          collect(instruction.kernel().arguments(), instruction.kernel().outputs());
          break;
        case schema::Instruction::kDelegate:
          collect(instruction.delegate().arguments(), instruction.delegate().outputs());
          break;
        case schema::Instruction::kMove:
          Flatten(instruction.move().from(), step.reads, false, i);
          Flatten(instruction.move().to(), step.writes, true, i);
          break;
        case schema::Instruction::kJumpIfFalse:
          Flatten(instruction.jump_if_false().condition(), step.reads, false, i);
          step.next.push_back(instruction.jump_if_false().target());
          break;
        case schema::Instruction::kJump:
          step.next = {instruction.jump().target()};
          break;
        case schema::Instruction::KIND_NOT_SET:
          break;
      }
      steps_.push_back(std::move(step));
    }
    for (uint32_t output : method_.outputs()) {
      Flatten(output, results_, false, method_.instructions_size());
    }
  }

  // M4, forwards: which tensors are certainly written when an instruction starts.
  void CheckDefinitions() {
    const size_t n = steps_.size();
    Bits everything(values_.size());
    for (size_t s = 0; s < values_.size(); ++s) everything.Set(s);
    std::vector<Bits> written(n + 1, everything);
    written[0] = Bits(values_.size());
    std::set<uint32_t> pending = {0};
    std::vector<bool> reached(n + 1, false);
    reached[0] = true;
    while (!pending.empty()) {
      const uint32_t i = *pending.begin();
      pending.erase(pending.begin());
      if (i >= n) continue;
      Bits after = written[i];
      for (uint32_t slot : steps_[i].writes) after.Set(slot);
      for (uint32_t next : steps_[i].next) {
        const bool changed = written[next].Keep(after);
        if (changed || !reached[next]) pending.insert(next);
        reached[next] = true;
      }
    }
    for (size_t i = 0; i <= n; ++i) {
      if (!reached[i]) continue;
      for (uint32_t slot : i < n ? steps_[i].reads : results_) {
        if (!written[i].Get(slot)) {
          Problem(absl::StrCat("M4: ", Name(slot), " is read by instruction ", i,
                               " but not written on every way there"));
        }
      }
    }
  }

  // Liveness, backwards, then M1 and M5 from it. A pair that is live together anywhere is looked at
  // once.
  void CheckLiveRanges() {
    const size_t n = steps_.size();
    std::vector<Bits> live(n + 1, Bits(values_.size()));  // before instruction i
    for (uint32_t slot : results_) live[n].Set(slot);
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t k = n; k-- > 0;) {
        Bits before(values_.size());
        for (uint32_t next : steps_[k].next) before.Add(live[next]);
        for (uint32_t slot : steps_[k].writes) before.Clear(slot);
        for (uint32_t slot : steps_[k].reads) before.Set(slot);
        if (live[k].Add(before)) changed = true;
      }
    }
    std::set<std::pair<uint32_t, uint32_t>> reported;
    for (size_t i = 0; i < n; ++i) {
      // While an instruction runs: what it reads, what it writes, and what later ones need.
      Bits now(values_.size());
      for (uint32_t next : steps_[i].next) now.Add(live[next]);
      for (uint32_t slot : steps_[i].reads) now.Set(slot);
      for (uint32_t slot : steps_[i].writes) now.Set(slot);
      if (i > 0 && now == previous_) continue;
      previous_ = now;
      CheckSet(now, i, reported);
    }
    CheckSet(live[n], n, reported);
  }

  void CheckSet(const Bits& live, size_t instruction,
                std::set<std::pair<uint32_t, uint32_t>>& reported) {
    std::vector<uint32_t> slots;
    live.ForEach([&](size_t s) {
      if (regions_[s].end > regions_[s].begin) slots.push_back(static_cast<uint32_t>(s));
    });
    std::sort(slots.begin(), slots.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(regions_[a].begin, a) < std::pair(regions_[b].begin, b);
    });
    for (size_t k = 1; k < slots.size(); ++k) {
      const uint32_t a = slots[k - 1], b = slots[k];
      if (!regions_[a].Meets(regions_[b])) continue;
      if (reported.insert(std::minmax(a, b)).second) {
        Problem(absl::StrCat("M1: ", Name(a), " and ", Name(b), " are both live at instruction ",
                             instruction));
      }
    }
  }

  const schema::Method& method_;
  std::vector<int> slots_;        // value → slot, -1 for values outside the arena
  std::vector<uint32_t> values_;  // slot → value
  std::vector<Region> regions_;   // by slot
  std::vector<Step> steps_;
  std::vector<uint32_t> results_;
  Bits previous_{0};
  std::vector<std::string> problems_;
};

}  // namespace

absl::Status CheckMemoryPlan(const schema::Method& method) { return Checker(method).Run(); }

}  // namespace belay::exir
