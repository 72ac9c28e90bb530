// Runs one lowering case and compares what comes out with what is expected.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_

#include <string>
#include <vector>

#include "exir/op/op_registry.h"

namespace belay::conformance {

struct CaseOutcome {
  enum class Kind : uint8_t { kPassed, kPassedWithDifference, kFailed };
  Kind kind = Kind::kPassed;
  // What was expected and what came; the difference on purpose.
  std::string detail;
  // What could not be executed, and why.
  std::vector<std::string> notes;
};

// `directory` holds the files of one case (FORMAT.md). A case passes when what comes out is what is
// expected, name for name and byte for byte, and when the lowered programs compute what was
// recorded, in the interpreter and in the runtime, state included.
CaseOutcome RunLoweringCase(const std::string& directory, const exir::OpRegistry& ops);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
