// Runs one lowering case.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/backend/chosen_backends.h"
#include "conformance/json/json.h"
#include "conformance/lowering/differences.h"
#include "exir/op_definition/op_registry.h"

namespace belay::conformance {

struct LoweringCase {
  std::string directory;  // has the programs and the arrays; its last component is the case's name
  Json description;       // case.json
  Json expected;          // expected.json
};
// kInvalidArgument, with the path: a document does not match case_schema.inc, or the description
// names an unknown method.
absl::StatusOr<LoweringCase> ReadLoweringCase(const std::string& directory);
absl::Status CheckLoweringCase(const LoweringCase& lowering_case);

struct CaseOutcome {
  std::string failure = "";                // "" when the case passed
  const Difference* difference = nullptr;  // of a case that passed: the intended difference
  std::vector<std::string> not_executed =
      {};  // methods, and why the runtime could not execute them
};
// Lowers the programs as the case describes, compares with the expected outcome (canonical_text.h,
// differences.h), and executes the lowered programs (case_numerics.h). A failed case never ends the
// process. With `chosen`, the case must have methods: they are lowered with the default
// partitioners of those backends, which count their nodes, and executed with the backends'
// runtimes. The case's partitioners and expected lowered programs are then ignored.
CaseOutcome RunLoweringCase(const LoweringCase& lowering_case, const exir::OpRegistry& ops,
                            ChosenBackends* chosen = nullptr);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_RUNNER_H_
