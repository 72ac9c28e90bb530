// What bounds one call of Method::Execute.
#ifndef BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_
#define BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace belay {

// Checked before each instruction, and before the steps of delegates that take the budget of the
// call (runtime/backend/execution_budget.h): a kernel that has begun is not interrupted.
struct ExecuteOptions {
  // No instruction begins after this time.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // No instruction begins once it is true. Any thread may set it while Execute runs; it must live
  // as long.
  const std::atomic<bool>* cancel = nullptr;
  // Instructions that the call may run, with those inside of delegates; 0: as many as
  // Limits::executed_instructions says, which is never exceeded.
  uint64_t executed_instructions = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_
