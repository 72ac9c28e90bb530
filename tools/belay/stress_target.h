// Processes a broken file like a valid one, within tight limits.
#ifndef BELAY_TOOLS_BELAY_STRESS_TARGET_H_
#define BELAY_TOOLS_BELAY_STRESS_TARGET_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace belay::tools {

// The stage that was reached, and the error that stopped it.
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

// Opens a program, loads each of its methods and executes it twice on random inputs. Limits per
// call: 256 MB of memory, 100'000 instructions and two seconds. Stages "open", "load", "input",
// "execute". Companion files are opened in `companion_root`; "": without companions.
absl::StatusOr<std::unique_ptr<StressTarget>> CreateProgramTarget(
    const std::string& companion_root);

// Imports an archive, ignoring the checksums of its entries, and converts it to an edge program.
// Stages "import", "to_edge".
absl::StatusOr<std::unique_ptr<StressTarget>> CreateArchiveTarget();

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_STRESS_TARGET_H_
