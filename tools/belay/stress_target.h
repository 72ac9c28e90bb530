// What is done with a broken file: as much as with a good one, within tight limits.
#ifndef BELAY_TOOLS_BELAY_STRESS_TARGET_H_
#define BELAY_TOOLS_BELAY_STRESS_TARGET_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace belay::tools {

// How far it got, and why not further.
struct StressOutcome {
  std::string_view stage;
  absl::Status status;
};

// Immutable.
class StressTarget {
 public:
  virtual ~StressTarget() = default;
  virtual StressOutcome Try(const std::string& bytes) const = 0;
};

// Opens a program, loads each of its methods and executes it twice on random inputs, with 256 MB of
// memory, 100'000 instructions and two seconds for each call. Stages "open", "load", "input",
// "execute". Companion files are looked for in `companion_root`; "": there are none.
absl::StatusOr<std::unique_ptr<StressTarget>> CreateProgramTarget(
    const std::string& companion_root);

// Imports an archive, whatever the checksums of its entries say, and makes an edge program of it.
// Stages "import", "to_edge".
absl::StatusOr<std::unique_ptr<StressTarget>> CreateArchiveTarget();

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_STRESS_TARGET_H_
