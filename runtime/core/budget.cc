#include "runtime/core/budget.h"

#include <atomic>
#include <string>
#include <utility>

#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay {

// runtime/core/budget_clock.h, which only commands include.
using BudgetClock =
    std::chrono::steady_clock::time_point (*)(std::chrono::steady_clock::time_point);
void SetBudgetClock(BudgetClock clock);

namespace {

constinit thread_local Budget* current = nullptr;
constinit std::atomic<BudgetClock> budget_clock = nullptr;

absl::Status StoppedAfter(const std::string& after, bool cancelled) {
  return cancelled ? absl::CancelledError(absl::StrCat(after, ", as 'cancel' asks"))
                   : absl::DeadlineExceededError(
                         absl::StrCat(after, ", because the 'deadline' has passed"));
}

}  // namespace

void SetBudgetClock(BudgetClock clock) { budget_clock.store(clock, std::memory_order_release); }

Budget* Budget::Current() { return current; }

Budget::Scope::Scope(Budget* budget) : previous_(std::exchange(current, budget)) {}
Budget::Scope::~Scope() { current = previous_; }

void Budget::InheritEnd(const Budget* other) {
  if (other == nullptr) return;
  if (cancel == nullptr) cancel = other->cancel;
  if (!deadline.has_value() || (other->deadline.has_value() && *other->deadline < *deadline)) {
    deadline = other->deadline;
  }
}

Budget::Reason Budget::Passed() const {
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return kCancel;
  if (!deadline.has_value()) return kNo;
  const auto now = std::chrono::steady_clock::now();
  if (now <= *deadline) return kNo;
  const BudgetClock clock = budget_clock.load(std::memory_order_acquire);
  return clock == nullptr || clock(now) > *deadline ? kDeadline : kNo;
}

bool Budget::MustStop() {
  if (cut_short()) return true;
  const Reason reason = Passed();
  if (reason != kNo) cut_short_.store(reason, std::memory_order_relaxed);
  return reason != kNo;
}

absl::Status Budget::Stopped(Reason reason) const {
  return StoppedAfter(instructions.taken == 0
                          ? std::string("stopped")
                          : absl::StrCat("stopped after ", instructions.taken, " instructions"),
                      reason == kCancel);
}

absl::Status Budget::TakeBoundedInstruction(uint64_t units) {
  if (instructions.taken >= instructions.allowed) [[unlikely]] {
    return absl::ResourceExhaustedError(
        absl::StrCat("stopped after the ", instructions.allowed,
                     " instructions that the limit 'executed_instructions' allows"));
  }
  if (const Reason reason = Passed(); reason != kNo) [[unlikely]] {
    return StoppedAfter(absl::StrCat("stopped after ", instructions.taken, " instructions"),
                        reason == kCancel);
  }
  ABSL_RETURN_IF_ERROR(TakeWork(units));
  ++instructions.taken;
  return absl::OkStatus();
}

absl::Status Budget::TakeWork(uint64_t units) {
  if (units > work.left()) [[unlikely]] {
    return absl::ResourceExhaustedError(absl::StrCat("takes ", units, " units of work, ",
                                                     work.left(), " are left of the ", work.allowed,
                                                     " that the limit 'work' allows"));
  }
  work.taken += units;
  return absl::OkStatus();
}

absl::Status Budget::TakeBytes(uint64_t count, std::string_view what) {
  if (count > bytes.left()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(ToAbsl(what), " takes ", count, " bytes, ", bytes.left(), " are left of the ",
                     bytes.allowed, " that the limit 'memory' allows"));
  }
  bytes.taken += count;
  return absl::OkStatus();
}

absl::Status Budget::Check() {
  if (nodes.taken > nodes.allowed) {
    return absl::ResourceExhaustedError(absl::StrCat("makes more nodes than the ", nodes.allowed,
                                                     " that the limit 'nodes' allows"));
  }
  Reason reason = cut_short_.load(std::memory_order_relaxed);
  if (reason == kNo) reason = Passed();
  return reason == kNo ? absl::OkStatus() : Stopped(reason);
}

absl::Status CheckBudget() { return current == nullptr ? absl::OkStatus() : current->Check(); }
absl::Status TakeWork(uint64_t units) {
  return current == nullptr ? absl::OkStatus() : current->TakeWork(units);
}
absl::Status TakeBytes(uint64_t bytes, std::string_view what) {
  return current == nullptr ? absl::OkStatus() : current->TakeBytes(bytes, what);
}

}  // namespace belay
