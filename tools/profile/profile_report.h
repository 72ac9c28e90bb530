// Reports of a profile: as JSON, as tables, and compared with another profile.
#ifndef BELAY_TOOLS_PROFILE_PROFILE_REPORT_H_
#define BELAY_TOOLS_PROFILE_PROFILE_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/profile/profile.h"

namespace belay::tools {

// All figures, times in milliseconds per call:
//   runs, wall_ms, cpu_ms, outside_ms   the calls; `outside_ms` is the time outside of instructions
//   hardware                            cycles, instructions, cache_misses of a call (p50), where
//                                       the system counts them; omitted if it counts none
//   memory                              of each method: arena size, peak use, the largest kernel
//                                       workspace, and the instructions of both maxima
//   missing                             facts that could not be determined, one line each
//   instructions                        each executed instruction, slowest first
//   by_operator, by_module, by_source, by_backend   sums of those
// A row has `name`, `share` (of the wall time), `mean_ms`, `p50_ms`, `p90_ms`, `count` (per call);
// the shares of the rows and of "outside of instructions" add up to 1. An instruction lists the
// preferred kernels that declined it, with reasons, and is `generic` if a delegate runs it by a
// kernel of a standard operator. Precondition: at least one run.
nlohmann::json ProfileJson(const Profile& profile);

// Formats the result of ProfileJson as tables, at most `rows` rows each.
std::string ProfileText(const nlohmann::json& profile, size_t rows);

// Lists instructions that became slower or faster from `before` to `now`, largest slowdown first:
// those that differ by 5 % and by 0.2 % of the whole. Instructions match by path, name and
// operator; unmatched ones are listed as well.
//   kInvalidArgument  `before`, which may come from a file, is not a profile
absl::StatusOr<std::string> CompareProfiles(const nlohmann::json& before,
                                            const nlohmann::json& now);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_PROFILE_REPORT_H_
