// Executes what a case lowered and compares it with what PyTorch recorded, and with the program as
// it was before it was lowered.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_

#include <string>
#include <vector>

#include "conformance/json/json.h"
#include "exir/backend/to_backend.h"
#include "runtime/backend/backend_registry.h"

namespace belay::conformance {

// `directory` has input_<i>.npy, output_<i>.npy and, for what a call changes, the files that
// `after` (of case.json) names; with several methods the names of inputs and outputs begin with the
// method's. Each method is called three times on the same state, in the interpreter and in the
// runtime: results of the first call are compared with the files, those of all calls with `source`,
// interpreted.
//   kFailedPrecondition  the first difference
//   whatever execution returns
// `not_executed` gets the methods that were not executed in the runtime because the program can't
// be emitted, and why. Delegates are executed by `backends`, which keep state to themselves; where
// that is null by the interpreter, whoever made them.
absl::Status CheckNumerics(const std::string& directory, const Json& after,
                           const exir::MethodPrograms& source, const exir::MethodPrograms& lowered,
                           std::vector<std::string>& not_executed,
                           const BackendRegistry* backends = nullptr);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_
