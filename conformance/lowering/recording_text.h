// The recording that the cases' RecordingBackend writes as its blob (FORMAT.md).
#ifndef BELAY_CONFORMANCE_LOWERING_RECORDING_TEXT_H_
#define BELAY_CONFORMANCE_LOWERING_RECORDING_TEXT_H_

#include <set>
#include <string>
#include <vector>

#include "conformance/json/json.h"
#include "exir/ir/exported_program.h"

namespace belay::conformance {

// Of graphs in the form of expected.json; `backend_ids` by delegate index.
std::string RecordingText(const Json& graphs, const std::vector<std::string>& backend_ids);
// Of a program; `fqns`: the tensors named by the exported program.
std::string RecordingText(const exir::ExportedProgram& program, const std::set<std::string>& fqns);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_RECORDING_TEXT_H_
