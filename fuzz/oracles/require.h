// What a fuzz target does when a property does not hold.
#ifndef BELAY_FUZZ_ORACLES_REQUIRE_H_
#define BELAY_FUZZ_ORACLES_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"

namespace belay::fuzz {

// Prints the status and ends the process, which fuzzers take for a finding, unless it is OK.
inline void Require(const absl::Status& property) {
  if (property.ok()) return;
  std::fprintf(stderr, "property violated: %s\n", property.ToString().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_REQUIRE_H_
