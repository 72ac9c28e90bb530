// Runs one lowering case.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/backend/chosen_backends.h"
#include "conformance/json/json.h"
#include "conformance/lowering/differences.h"
#include "exir/op/op_registry.h"

namespace belay::conformance {

struct LoweringCase {
  std::string directory;  // has the programs and the arrays; its last part is the case's name
  Json description;       // case.json
  Json expected;          // expected.json
};
// kInvalidArgument, with the place, when a document is not what case_schema.inc describes, or the
// description names a method that is not there.
absl::StatusOr<LoweringCase> ReadLoweringCase(const std::string& directory);
absl::Status CheckLoweringCase(const LoweringCase& lowering_case);

struct CaseOutcome {
  std::string failure = "";                // "" when the case passed
  const Difference* difference = nullptr;  // of a case that passed: what is different on purpose
  std::vector<std::string> not_executed =
      {};  // methods, and why the runtime could not execute them
};
// Lowers the programs as the case says, compares with what it expects (canonical_text.h,
// differences.h), and executes what was lowered (case_numerics.h). A failed case never ends the
// process. With `chosen`, the case must have methods: they are lowered by those backends' default
// partitioners, which count what they take, and executed with the backends' run-time sides. What
// the case says of partitioners and expects of lowered programs does not matter then.
CaseOutcome RunLoweringCase(const LoweringCase& lowering_case, const exir::OpRegistry& ops,
                            ChosenBackends* chosen = nullptr);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
