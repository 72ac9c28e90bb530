// Executes the lowered programs of a case. Compares the results with PyTorch's recorded results and
// with the program before lowering.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_

#include <string>
#include <vector>

#include "conformance/json/json.h"
#include "exir/backend/to_backend.h"
#include "runtime/backend/backend_registry.h"

namespace belay::conformance {

// `directory` has input_<i>.npy, output_<i>.npy and, for state that a call changes, the files named
// by `after` (of case.json). With several methods, the names of inputs and outputs begin with the
// method's name. Each method is called three times on the same state, in the interpreter and in the
// runtime. Results of the first call are compared with the files, those of all calls with `source`,
// interpreted.
//   kFailedPrecondition  the first difference
//   errors of execution
// `not_executed` receives the methods that the runtime did not execute because the program cannot
// be emitted, with the reason. `backends` execute delegates; state that a delegate owns is not
// compared then. If null, the interpreter executes the delegates of all backends.
absl::Status CheckNumerics(const std::string& directory, const Json& after,
                           const exir::MethodPrograms& source, const exir::MethodPrograms& lowered,
                           std::vector<std::string>& not_executed,
                           const BackendRegistry* backends = nullptr);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_
