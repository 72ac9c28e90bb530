#include "tools/profile/profile.h"

#include <algorithm>
#include <optional>

namespace belay::tools {

double Percentile(std::vector<double> values, double p) {
  const size_t at =
      std::min(values.size() - 1, static_cast<size_t>(p * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

SiteTimes& Profile::TimesOf(size_t site) {
  if (sites_.size() <= site) sites_.resize(site + 1);
  SiteTimes& times = sites_[site];
  times.own.resize(wall.size());
  times.total.resize(wall.size());
  return times;
}

void Profile::AddRun(absl::Span<const Event> events, const HardwareCounts& counted) {
  for (size_t k = 0; k < kNumHardwareCounters; ++k) {
    if (counted[k].has_value()) counts[k].push_back(*counted[k]);
  }
  struct Open {
    const Event* event;
    std::optional<size_t> site;
    double children = 0;
  };
  wall.push_back(0);
  cpu.push_back(0);
  outside.push_back(0);
  std::vector<Open> open;
  const auto close = [&] {
    const Open last = open.back();
    open.pop_back();
    const auto total = static_cast<double>(last.event->end - last.event->begin);
    const double own = std::max(0.0, total - last.children);
    if (last.site.has_value()) {
      SiteTimes& times = TimesOf(*last.site);
      times.own.back() += own;
      times.total.back() += total;
      ++times.count;
    }
    if (open.empty()) {
      wall.back() += total;
      cpu.back() += static_cast<double>(last.event->cpu);
      outside.back() += own;
    } else {
      // Time without a site (a method inside of a delegate) counts for its caller.
      open.back().children += last.site.has_value() ? total : total - own;
    }
  };
  bool executing = false;
  for (const Event& event : events) {
    while (open.size() > event.depth) close();
    if (event.depth == 0) executing = event.kind == EventKind::kExecute;
    if (executing) open.push_back({&event, code_.SiteOf(event)});
  }
  while (!open.empty()) close();
  // Sites that this run did not execute.
  for (size_t s = 0; s < code_.sites().size(); ++s) TimesOf(s);
}

}  // namespace belay::tools
