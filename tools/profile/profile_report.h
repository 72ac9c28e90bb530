// A profile as JSON, as tables for people, and beside another one.
#ifndef BELAY_TOOLS_PROFILE_PROFILE_REPORT_H_
#define BELAY_TOOLS_PROFILE_PROFILE_REPORT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/profile/profile.h"

namespace belay::tools {

// All figures, times in milliseconds per call:
//   runs, wall_ms, cpu_ms, outside_ms   the calls; `outside_ms` is what is in no instruction
//   hardware                            cycles, instructions, cache_misses of a call (p50), those that
//                                       the system counts; left out where it counts none
//   memory                              of each method: its arena, the most of it that is in use, the
//                                       most that a kernel works in, and the instructions of both
//   missing                             what could not be found out, a line each
//   instructions                        each that was executed, the slowest first
//   by_operator, by_module, by_source, by_backend   sums of those
// A row has `name`, `share` (of the wall time), `mean_ms`, `p50_ms`, `p90_ms`, `count` (per call);
// its shares and those of "outside of instructions" add up to 1. An instruction says which kernels
// are preferred to its own and why they declined. Precondition: there was a run.
nlohmann::json ProfileJson(const Profile& profile);

// What ProfileJson made, in words; at most `rows` of each table.
std::string ProfileText(const nlohmann::json& profile, size_t rows);

// What became slower and faster from `before` to `now`, by instruction: those that differ by 5 % and
// by 0.2 % of the whole, the slowest-grown first. Instructions are the same when path, name and
// operator are; what is on one side only is listed as well.
//   kInvalidArgument  `before`, which may come from a file, is no profile
absl::StatusOr<std::string> CompareProfiles(const nlohmann::json& before,
                                            const nlohmann::json& now);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_PROFILE_REPORT_H_
