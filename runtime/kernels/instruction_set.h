// Instruction sets from which Highway kernels select at run time.
#ifndef BELAY_RUNTIME_KERNELS_INSTRUCTION_SET_H_
#define BELAY_RUNTIME_KERNELS_INSTRUCTION_SET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace belay {

// Returns the compiled instruction sets that this CPU supports, best first, with Highway's names:
// "AVX3_ZEN4", "AVX2", …. If AMX is available, "AMX" is the first: AMX tiles (amx.h) on top of the
// next set.
std::vector<std::string> InstructionSets();

// Makes all kernels of the process behave as on a CPU whose best instruction set is `name`. For
// tests and measurements; must not be called while a kernel runs. A kernel that was not compiled
// for `name` (targets.bzl) uses the next best set. kNotFound, listing InstructionSets(), if the
// name is unknown.
absl::Status UseInstructionSet(std::string_view name);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_INSTRUCTION_SET_H_
