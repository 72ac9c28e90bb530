// How near instructions are to what the machine can do.
#ifndef BELAY_TOOLS_PROFILE_ROOF_H_
#define BELAY_TOOLS_PROFILE_ROOF_H_

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace belay::tools {

// Gives each instruction of `profile` (profile_report.h) whose operations or bytes are known "roof":
// the time that it takes at least, by the limits of the machine, over the time that it took. At least
// it takes its operations at the rate of multiply-adds (dot products where its first operand is int8
// or bfloat16 and the machine has them), and its operands' bytes at that of the nearest cache that
// holds them all. `limits` is what //tools/bench:limits prints, perhaps from a file; of its figures
// the best, of one thread or, for more, of two.
//   kInvalidArgument  `limits` is not that; names what is missing. Nothing changed
absl::Status AddRoofs(const nlohmann::json& limits, int threads, nlohmann::json& profile);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_ROOF_H_
