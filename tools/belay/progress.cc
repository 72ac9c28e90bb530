#include "tools/belay/progress.h"

#include <unistd.h>

#include <cstdio>

#include "absl/time/clock.h"

namespace belay::tools {

Progress::Progress() : start_(absl::Now()), phase_start_(start_), terminal_(isatty(2) == 1) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::Update(std::string_view phase, double done) {
  if (!terminal_) return;
  const absl::Time now = absl::Now();
  const absl::Duration in_last = now - phase_start_;
  if (phase != phase_) {
    phase_ = phase;
    phase_start_ = now;
  }
  if (in_last < absl::Seconds(2) && now - start_ < absl::Seconds(2)) return;
  const double elapsed = absl::ToDoubleSeconds(now - start_);
  const double left = done > 0.01 ? elapsed * (1 - done) / done : 0;
  std::fprintf(stderr, "\r\033[K%s  %3.0f %%  ETA %.0f s", phase_.c_str(), 100 * done, left);
  shown_ = true;
}

}  // namespace belay::tools
