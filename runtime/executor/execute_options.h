// Bounds of one call of Method::Execute.
#ifndef BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_
#define BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace belay {

// Checked before each instruction, before the steps of delegates that use the call's budget
// (runtime/core/budget.h), and inside kernels whose work grows faster than their operands (matmul,
// convolution, attention, distances). Other kernels are as short as their operands are small.
struct ExecuteOptions {
  // No instruction starts after this time, and long ones stop early.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Has the same effect once it is true. Any thread may set it while Execute runs; it must outlive
  // the call.
  const std::atomic<bool>* cancel = nullptr;
  // Maximum number of instructions, including those inside delegates; 0:
  // Limits::executed_instructions, which also bounds larger values.
  uint64_t executed_instructions = 0;
  // Maximum work (runtime/kernel_interface/work.h), including that of delegates' programs; 0:
  // Limits::executed_work.
  uint64_t executed_work = 0;
};

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_EXECUTE_OPTIONS_H_
