// Test cases of ExecuTorch's bundled programs (.bpte): executes them, and creates such files.
#ifndef BELAY_TOOLS_BELAY_BUNDLED_CASES_H_
#define BELAY_TOOLS_BELAY_BUNDLED_CASES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/belay/command.h"
#include "tools/belay/verification.h"

namespace belay::tools {

// Returns whether the file begins like a bundled program. Errors of MappedFile::Open.
absl::StatusOr<bool> IsBundledProgramAt(const std::string& path);

// Executes all test cases of `path` on newly loaded methods and compares the outputs. `findings` has
// all differences; a call is a test case. Errors of opening, loading and executing, with the case.
//   kInvalidArgument  the number of inputs or outputs differs from that of the method
absl::StatusOr<Verification> VerifyBundledCases(const std::string& path,
                                                const VerifyOptions& options,
                                                const OnProgramOpened& opened);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_BUNDLED_CASES_H_
