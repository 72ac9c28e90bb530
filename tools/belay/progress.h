// Shows progress on a terminal once a phase has lasted two seconds.
#ifndef BELAY_TOOLS_BELAY_PROGRESS_H_
#define BELAY_TOOLS_BELAY_PROGRESS_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace belay::tools {

// Writes to stderr only if it is a terminal. Not thread-safe.
class Progress {
 public:
  Progress();
  ~Progress();  // clears the line
  // `done` is the fraction of the whole, in [0, 1]. Shows phase, percentage and remaining time.
  void Update(std::string_view phase, double done);

 private:
  absl::Time start_;
  absl::Time phase_start_;
  std::string phase_;
  bool terminal_ = false;
  bool shown_ = false;
};

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRESS_H_
