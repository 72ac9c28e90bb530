#include "tools/belay/profile_calls.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "tools/profile/profile.h"
#include "tools/profile/profile_report.h"

namespace belay::tools {

absl::StatusOr<nlohmann::json> ProfileCalls(Method& method, EventLog& log, int runs,
                                            HardwareCounters& counters, CodeMap& code,
                                            std::string_view remedy) {
  ABSL_RETURN_IF_ERROR(method.Execute());  // also sets the sizes
  Profile profile(code);
  uint64_t dropped = 0;
  size_t held = 0;
  for (int run = 0; run < runs; ++run) {
    log.Clear();
    counters.Start();
    ABSL_RETURN_IF_ERROR(method.Execute());
    profile.AddRun(log.events(), counters.Stop());
    if (log.dropped() == 0) continue;
    dropped = std::max(dropped, log.dropped());
    held = log.events().size();
  }
  nlohmann::json report = ProfileJson(profile);
  if (dropped != 0) {
    report["missing"].push_back(absl::StrCat(
        dropped, " events of a call were dropped: the log holds ", held, std::string(remedy)));
  }
  return report;
}

}  // namespace belay::tools
