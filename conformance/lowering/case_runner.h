// Runs one lowering case and compares what comes out with what is expected.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_

#include <string>

#include "exir/op/op_registry.h"

namespace belay::conformance {

struct CaseOutcome {
  enum class Kind { kPassed, kFailed, kSkipped };
  Kind kind = Kind::kPassed;
  std::string detail;  // what was expected and what came; why it was skipped
};

// `directory` holds case.json and expected.json.
CaseOutcome RunLoweringCase(const std::string& directory, const exir::OpRegistry& ops);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
