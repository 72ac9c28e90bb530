// Arena bytes in use at each instruction of a method.
#ifndef BELAY_TOOLS_PROFILE_ARENA_USE_H_
#define BELAY_TOOLS_PROFILE_ARENA_USE_H_

#include <cstdint>
#include <vector>

#include "runtime/program/plan.h"

namespace belay::tools {

// Returns, for each instruction, the arena bytes (planned at the largest sizes) of live tensors. A
// tensor is live from the first to the last instruction that refers to it. Tensors older than a
// loop are live throughout the loop, and results until the end, as in exir/emit/lifetimes.h. Bytes
// that two tensors share (an output that aliases its argument) count once.
std::vector<uint64_t> ArenaUse(const MethodPlan& plan);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_ARENA_USE_H_
