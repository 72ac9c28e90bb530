// Executes what a case lowered, in the interpreter and in the runtime, and compares with what
// PyTorch recorded and with the program as it was before it was lowered.
#ifndef BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_
#define BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_

#include <string>
#include <vector>

#include "conformance/lowering/json_value.h"
#include "exir/backend/to_backend.h"

namespace belay::conformance {

// `directory` has input_<i>.npy, output_<i>.npy and, for what a call changes, the files that
// `after` (of case.json) names; with several methods the names of inputs and outputs begin with the
// method's. Each method is called three times on the same state: results of the first call are
// compared with the files, those of all calls with `source`, interpreted.
//
// "" when all agree, else the first difference. `notes` gets what could not be executed in the
// runtime, and why: a program that can't be emitted.
std::string CheckNumerics(const std::string& directory, const Json& after,
                          const exir::MethodPrograms& source, const exir::MethodPrograms& lowered,
                          std::vector<std::string>& notes);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_CASE_NUMERICS_H_
