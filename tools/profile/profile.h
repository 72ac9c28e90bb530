// Adds up the events of many calls.
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

// Of one site: an entry per run. A site that was executed several times in a run has their sum.
struct SiteTimes {
  std::vector<double> own;    // ns in it and in nothing that is logged inside of it
  std::vector<double> total;  // ns
  uint64_t count = 0;         // in all runs
};

class Profile {
 public:
  // `code` outlives it.
  explicit Profile(CodeMap& code) : code_(code) {}

  // The events of one call of Method::Execute. Those of loading are left out. Steps of a delegate
  // that were at the same time count with what they took together, at most what the call took.
  // `counted` is what the processor counted during the call.
  void AddRun(absl::Span<const Event> events, const HardwareCounts& counted = {});

  size_t runs() const { return wall.size(); }
  const CodeMap& code() const { return code_; }
  // By index of the site; one for each.
  const std::vector<SiteTimes>& sites() const { return sites_; }

  // An entry per run, in ns: of the whole call; of the calling thread; of what is in no instruction.
  // outside + all SiteTimes::own = wall.
  std::vector<double> wall, cpu, outside;
  // By HardwareCounter, an entry per run that had it.
  std::array<std::vector<double>, kNumHardwareCounters> counts;

 private:
  SiteTimes& TimesOf(size_t site);

  CodeMap& code_;
  std::vector<SiteTimes> sites_;
};

// The value below which the share p of them lies. Precondition: there is one.
double Percentile(std::vector<double> values, double p);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_PROFILE_PROFILE_H_
