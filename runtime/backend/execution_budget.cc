#include "runtime/backend/execution_budget.h"

#include "runtime/core/str_cat.h"

namespace belay {

absl::Status ExecutionBudget::TakeBoundedInstruction() {
  if (executed >= allowed) [[unlikely]] {
    return absl::ResourceExhaustedError(
        absl::StrCat("stopped after the ", allowed,
                     " instructions that the limit 'executed_instructions' allows"));
  }
  if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) [[unlikely]] {
    return absl::CancelledError(absl::StrCat("stopped after ", executed,
                                             " instructions, as 'ExecuteOptions::cancel' asks"));
  }
  if (deadline.has_value() && std::chrono::steady_clock::now() > *deadline) [[unlikely]] {
    return absl::DeadlineExceededError(
        absl::StrCat("stopped after ", executed,
                     " instructions, because 'ExecuteOptions::deadline' has passed"));
  }
  ++executed;
  return absl::OkStatus();
}

}  // namespace belay
