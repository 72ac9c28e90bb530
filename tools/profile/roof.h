// Roofline: compares the time of instructions with the limits of the machine.
#ifndef BELAY_TOOLS_PROFILE_ROOF_H_
#define BELAY_TOOLS_PROFILE_ROOF_H_

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace belay::tools {

// Adds "roof" to each instruction of `profile` (profile_report.h) whose operations or bytes are
// known:
//   roof = minimum time / measured time
// The minimum time is the larger of compute and memory time. Compute time uses the machine's
// multiply-add rate, or its dot-product rate if the first operand is int8 or bfloat16 and the
// machine has such instructions. Memory time uses the bandwidth of the nearest cache that holds all
// operands. `limits` is the output of //tools/bench:limits, perhaps from a file; the best figure
// for one thread is used, or for two if `threads` is larger.
//   kInvalidArgument  `limits` is not such an output; names what is missing. `profile` is unchanged
absl::Status AddRoofs(const nlohmann::json& limits, int threads, nlohmann::json& profile);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_ROOF_H_
