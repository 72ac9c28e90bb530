// Finds the outputs of a method that may be placed in caller memory.
#ifndef BELAY_RUNTIME_EXECUTOR_MOVABLE_OUTPUTS_H_
#define BELAY_RUNTIME_EXECUTOR_MOVABLE_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/memory_check.h"
#include "runtime/program/plan.h"

namespace belay {

// Outputs after the first 64 are never movable: each one costs a scan of all values.
inline constexpr size_t kMostMovableOutputs = 64;

// Returns the values among plan.outputs that can be written to caller memory instead of the arena,
// each once. Such a value is a non-empty tensor of static sizes in the arena. Exactly one kernel or
// delegate call writes it, and no instruction reads it. Its arena range is used for no other value
// by later calls or outputs, and by that call at most for arguments, which it may then read where
// they are. Hence the program computes the same results wherever these outputs are placed. A method
// with jumps has none. O(values * min(outputs, kMostMovableOutputs) + operands + elements of
// lists).
std::vector<uint32_t> MovableOutputs(const MethodPlan& plan);

// Adds an upper bound of the memory used by MovableOutputs().
void AddMovableOutputsMemory(const MethodPlan& plan, MemoryBound& bound);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_MOVABLE_OUTPUTS_H_
