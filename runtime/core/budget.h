// What a piece of work may take: opening, importing, lowering or executing a file that nobody
// trusts. One object bounds all of it, whoever works on its account: instructions, delegates, the
// programs inside of those; passes, decompositions, folded constants.
#ifndef BELAY_RUNTIME_CORE_BUDGET_H_
#define BELAY_RUNTIME_CORE_BUDGET_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace belay {

// As it is made: without bounds. What is taken is never given back. Used by one thread at a time,
// but for Stop(), which the threads that help it ask as well.
struct Budget {
  // An amount that may be used up.
  struct Quota {
    uint64_t allowed = UINT64_MAX;
    uint64_t taken = 0;
    uint64_t left() const { return allowed > taken ? allowed - taken : 0; }
  };

  // Nothing begins after this time, and long loops end.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Nothing begins once it is true. Any thread may set it; it must live as long.
  const std::atomic<bool>* cancel = nullptr;
  // Of programs, with those of delegates that work step by step.
  Quota instructions;
  // Multiply-adds, or what takes as long (runtime/kernel/work.h).
  Quota work;
  // Of graphs, made by anybody, erased ones included; see CountNode().
  Quota nodes;
  // Of elements that are computed, copied or made up while lowering.
  Quota bytes;

  // Ends when `other` does, too; null for none.
  void InheritEnd(const Budget* other);

  // Before each instruction, which is counted, and its work. Allocates nothing unless it fails.
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
  // Before that much work. Errors as above.
  absl::Status TakeWork(uint64_t units);
  // Before memory of that size is allocated; `what` it is for. kResourceExhausted.
  absl::Status TakeBytes(uint64_t bytes, std::string_view what);
  // A node with so many results was made; each counts, since each takes memory. Where that was one
  // too many, the next Check() says so.
  void CountNode(uint64_t results = 1) { nodes.taken += results > 1 ? results : 1; }
  // Between nodes, passes, and after what asks Stop().
  //   kResourceExhausted  more nodes than allowed
  //   kCancelled, kDeadlineExceeded
  absl::Status Check();

  // Whether a loop of the calling thread's work should end, whatever it leaves behind: whoever
  // called it asks Check() and drops the result. Costs a few nanoseconds without a deadline, about
  // 30 with one: asked every 10 µs or more.
  static bool Stop() {
    Budget* budget = Current();
    return budget != nullptr && budget->MustStop();
  }
  // Whether Stop() was true: results are incomplete.
  bool cut_short() const { return cut_short_.load(std::memory_order_relaxed) != kNo; }

  // Asks Stop() now and then: for loops whose rounds are short. One per loop and thread.
  class Pace {
   public:
    // `units` multiply-adds or the like come next.
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

  // The budget of the calling thread's work; null for none. Loops that are asked to end lie many
  // calls below the one who knows why, and kernels' signatures are no place for it.
  static Budget* Current();
  // Current() while it lives; the one from before comes back then. Scopes nest.
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

// Current()'s Check(), TakeWork() and TakeBytes(); OK where there is no budget.
absl::Status CheckBudget();
absl::Status TakeWork(uint64_t units);
absl::Status TakeBytes(uint64_t bytes, std::string_view what);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_BUDGET_H_
