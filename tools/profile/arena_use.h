// How much of a method's arena is in use when.
#ifndef BELAY_TOOLS_PROFILE_ARENA_USE_H_
#define BELAY_TOOLS_PROFILE_ARENA_USE_H_

#include <cstdint>
#include <vector>

#include "runtime/program/plan.h"

namespace belay::tools {

// For each instruction: the bytes of the arena, as planned for the largest sizes, that hold a tensor
// which an instruction up to this one mentions and this one or a later one, too. Around a loop for
// what is older than it; to the end for results (the same as in exir/emit/lifetimes.h). A place that
// two tensors have at once, an output over its argument, counts once.
std::vector<uint64_t> ArenaUse(const MethodPlan& plan);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_ARENA_USE_H_
