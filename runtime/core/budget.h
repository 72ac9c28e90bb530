// Resource budget for opening, importing, lowering or executing an untrusted file. One object
// bounds the whole task, including nested work: instructions, delegates and the programs in them,
// passes, decompositions, folded constants.
#ifndef BELAY_RUNTIME_CORE_BUDGET_H_
#define BELAY_RUNTIME_CORE_BUDGET_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace belay {

// Default-constructed: unlimited. Usage is cumulative. Used by one thread at a time, except Stop(),
// which helper threads also call.
struct Budget {
  // A consumable quantity.
  struct Quota {
    uint64_t allowed = UINT64_MAX;
    uint64_t taken = 0;
    uint64_t left() const { return allowed > taken ? allowed - taken : 0; }
  };

  // No new unit of work starts after this time, and long loops stop.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // No new unit of work starts once it is true. Any thread may set it; it must outlive the budget.
  const std::atomic<bool>* cancel = nullptr;
  // Instructions of programs, including delegates that execute step by step.
  Quota instructions;
  // Multiply-adds, or operations of similar cost (runtime/kernel_interface/work.h).
  Quota work;
  // Graph nodes, whatever created them, including erased ones; see CountNode().
  Quota nodes;
  // Bytes of elements that are computed, copied or created during lowering.
  Quota bytes;

  // Also ends when `other` does; null for none.
  void InheritEnd(const Budget* other);

  // Called before each instruction: counts it and its work. Allocates nothing unless it fails.
  //   kResourceExhausted, kCancelled, kDeadlineExceeded
  absl::Status TakeInstruction(uint64_t units = 0) {
    if (instructions.taken < instructions.allowed && units <= work.left() && cancel == nullptr &&
        !deadline.has_value()) [[likely]] {
      ++instructions.taken;
      work.taken += units;
      return absl::OkStatus();
    }
    return TakeBoundedInstruction(units);
  }
  // Called before this amount of work. Errors as above.
  absl::Status TakeWork(uint64_t units);
  // Called before an allocation of this size; `what` is its purpose. kResourceExhausted.
  absl::Status TakeBytes(uint64_t bytes, std::string_view what);
  // Counts a new node; each result counts as a node, since each uses memory. If this exceeds the
  // limit, the next Check() fails.
  void CountNode(uint64_t results = 1) { nodes.taken += results > 1 ? results : 1; }
  // Called between nodes, between passes, and after loops that poll Stop().
  //   kResourceExhausted  more nodes than allowed
  //   kCancelled, kDeadlineExceeded
  absl::Status Check();

  // Returns whether a loop in the calling thread's work should stop, with incomplete results. The
  // loop's caller calls Check() and discards the result. Costs a few nanoseconds without a
  // deadline, about 30 with one: poll at most every 10 µs.
  static bool Stop() {
    Budget* budget = Current();
    return budget != nullptr && budget->MustStop();
  }
  // Whether Stop() returned true: results are incomplete.
  bool cut_short() const { return cut_short_.load(std::memory_order_relaxed) != kNo; }

  // Polls Stop() at intervals, for loops with short iterations. One per loop and thread.
  class Pace {
   public:
    // Called before the next `units` multiply-adds or similar operations.
    bool Stop(int64_t units) {
      left_ -= units;
      if (left_ > 0) [[likely]]
        return stopped_;
      left_ = kInterval;
      return stopped_ = Budget::Stop();
    }
    bool stopped() const { return stopped_; }

   private:
    static constexpr int64_t kInterval = 1 << 17;
    int64_t left_ = kInterval;
    bool stopped_ = false;
  };

  // The budget of the calling thread's work; null for none. Loops that must stop are many calls
  // below the owner of the budget, and kernels do not pass it in their signatures.
  static Budget* Current();
  // Sets Current() for its lifetime, then restores the previous budget. Scopes nest.
  class Scope {
   public:
    explicit Scope(Budget* budget);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();
    Budget* previous() const { return previous_; }

   private:
    Budget* previous_;
  };

 private:
  enum Reason : uint8_t { kNo, kCancel, kDeadline };
  bool MustStop();
  Reason Passed() const;
  absl::Status TakeBoundedInstruction(uint64_t units);
  absl::Status Stopped(Reason reason) const;

  std::atomic<Reason> cut_short_ = kNo;
};

// Check(), TakeWork() and TakeBytes() of Current(); OK without a budget.
absl::Status CheckBudget();
absl::Status TakeWork(uint64_t units);
absl::Status TakeBytes(uint64_t bytes, std::string_view what);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_BUDGET_H_
