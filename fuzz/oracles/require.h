// Reports a violated property in a fuzz target.
#ifndef BELAY_FUZZ_ORACLES_REQUIRE_H_
#define BELAY_FUZZ_ORACLES_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"

namespace belay::fuzz {

// Unless the status is OK, prints it and aborts, which fuzzers report as a finding.
inline void Require(const absl::Status& property) {
  if (property.ok()) return;
  std::fprintf(stderr, "property violated: %s\n", property.ToString().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace belay::fuzz

#endif  // BELAY_FUZZ_ORACLES_REQUIRE_H_
