// What one call of Method::Execute may do: shared by the method's instructions, its delegates, and
// the programs inside of those.
#ifndef BELAY_RUNTIME_BACKEND_EXECUTION_BUDGET_H_
#define BELAY_RUNTIME_BACKEND_EXECUTION_BUDGET_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"

namespace belay {

// As it is made: without bounds. Used by one thread at a time.
struct ExecutionBudget {
  // See ExecuteOptions.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::atomic<bool>* cancel = nullptr;
  // Instructions, with those of delegates that work step by step.
  uint64_t allowed = UINT64_MAX;
  uint64_t executed = 0;

  // Before each instruction, which is counted. Allocates nothing unless it fails.
  //   kResourceExhausted, kCancelled, kDeadlineExceeded
  absl::Status TakeInstruction() {
    if (executed < allowed && cancel == nullptr && !deadline.has_value()) [[likely]] {
      ++executed;
      return absl::OkStatus();
    }
    return TakeBoundedInstruction();
  }

 private:
  absl::Status TakeBoundedInstruction();
};

}  // namespace belay

#endif  // BELAY_RUNTIME_BACKEND_EXECUTION_BUDGET_H_
