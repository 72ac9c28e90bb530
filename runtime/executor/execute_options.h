// What bounds one call of Method::Execute.
#ifndef BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_
#define BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace belay {

// Checked before each instruction, before the steps of delegates that take the budget of the call
// (runtime/core/budget.h), and inside of kernels whose work grows faster than their operands:
// products, convolutions, attention, distances. Others are as short as their operands are small.
struct ExecuteOptions {
  // No instruction begins after this time, and long ones end early.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // The same once it is true. Any thread may set it while Execute runs; it must live as long.
  const std::atomic<bool>* cancel = nullptr;
  // Instructions that the call may run, with those inside of delegates; 0: as many as
  // Limits::executed_instructions says, which is never exceeded.
  uint64_t executed_instructions = 0;
  // Work that the call may do (runtime/kernel/work.h), with that of delegates' programs; 0: as much
  // as Limits::executed_work says.
  uint64_t executed_work = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_
