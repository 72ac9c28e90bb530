// Measures calls of a method, without output: for the command and for bindings.
#ifndef BELAY_TOOLS_BELAY_PROFILE_CALLS_H_
#define BELAY_TOOLS_BELAY_PROFILE_CALLS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/executor/method.h"
#include "runtime/trace/event_log.h"
#include "runtime/trace/hardware_counters.h"
#include "tools/profile/code_map.h"

namespace belay::tools {

// Executes the method once to warm up and then `runs` times, at least once. Returns ProfileJson of
// these calls. The inputs must be set, and the method must log to `log`, which then has the events
// of the last call. Create `counters` before other threads, so that these are counted. If a call
// had more events than the log holds, the report says so, followed by `remedy`. Errors of Execute.
absl::StatusOr<nlohmann::json> ProfileCalls(Method& method, EventLog& log, int runs,
                                            HardwareCounters& counters, CodeMap& code,
                                            std::string_view remedy = "");

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROFILE_CALLS_H_
