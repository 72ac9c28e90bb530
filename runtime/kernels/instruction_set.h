// The instruction sets that Highway kernels choose from when they run.
#ifndef BELAY_RUNTIME_KERNELS_INSTRUCTION_SET_H_
#define BELAY_RUNTIME_KERNELS_INSTRUCTION_SET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace belay {

// Those that were compiled in and that this CPU has, the best first: "AVX3_ZEN4", "AVX2", …, as
// Highway names them; and "AMX" before all others, which adds AMX's tiles (amx.h) to the next.
std::vector<std::string> InstructionSets();

// Makes all kernels of the process behave as on a CPU whose best this one is: for tests and
// measurements, while no kernel runs. A kernel that was not compiled for it (targets.bzl) uses
// the best below it.
// kNotFound listing InstructionSets() when it is none of them.
absl::Status UseInstructionSet(std::string_view name);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_INSTRUCTION_SET_H_
