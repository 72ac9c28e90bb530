// Accumulates the events of many calls.
#ifndef BELAY_TOOLS_PROFILE_PROFILE_H_
#define BELAY_TOOLS_PROFILE_PROFILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/trace/event_log.h"
#include "runtime/trace/hardware_counters.h"
#include "tools/profile/code_map.h"

namespace belay::tools {

// Times of one site, with one entry per run: the sum over all executions of the site in that run.
struct SiteTimes {
  std::vector<double> own;    // ns, without nested events
  std::vector<double> total;  // ns
  uint64_t count = 0;         // in all runs
};

class Profile {
 public:
  // `code` must outlive the profile.
  explicit Profile(CodeMap& code) : code_(code) {}

  // Adds the events of one call of Method::Execute; load events are ignored. Concurrent steps of a
  // delegate count with their combined time, at most the duration of the call. `counted` are the
  // hardware counters of the call.
  void AddRun(absl::Span<const Event> events, const HardwareCounts& counted = {});

  size_t runs() const { return wall.size(); }
  const CodeMap& code() const { return code_; }
  // Times of all sites, by site index.
  const std::vector<SiteTimes>& sites() const { return sites_; }

  // One entry per run, in ns: the wall time of the call, the CPU time of the calling thread, and
  // the time outside of instructions. outside + sum(SiteTimes::own) = wall.
  std::vector<double> wall, cpu, outside;
  // By HardwareCounter; one entry per run in which it was counted.
  std::array<std::vector<double>, kNumHardwareCounters> counts;

 private:
  SiteTimes& TimesOf(size_t site);

  CodeMap& code_;
  std::vector<SiteTimes> sites_;
};

// Returns the value at quantile `p`. Precondition: `values` is not empty.
double Percentile(std::vector<double> values, double p);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_PROFILE_H_
