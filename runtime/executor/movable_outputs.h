// Which outputs of a method may lie elsewhere than planned.
#ifndef BELAY_RUNTIME_EXECUTOR_MOVABLE_OUTPUTS_H_
#define BELAY_RUNTIME_EXECUTOR_MOVABLE_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/memory_check.h"
#include "runtime/program/plan.h"

namespace belay {

// Of more outputs, the others stay where they are: each costs a look at every value.
inline constexpr size_t kMostMovableOutputs = 64;

// The values among plan.outputs that can be written to memory of the caller's instead of the arena,
// each once. Those are tensors in the arena, of static sizes, with elements, that one call of a
// kernel or delegate writes and no instruction reads, and whose place in the arena neither that call
// nor a later one uses for another value, nor an output; so whatever the file says, the program
// computes the same wherever they lie. None in a method with jumps.
// O(values * min(outputs, kMostMovableOutputs) + operands + elements of lists).
std::vector<uint32_t> MovableOutputs(const MethodPlan& plan);

// What that holds at most.
void AddMovableOutputsMemory(const MethodPlan& plan, MemoryBound& bound);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_MOVABLE_OUTPUTS_H_
