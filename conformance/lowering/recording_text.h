// What the cases' RecordingBackend writes.
#ifndef BELAY_CONFORMANCE_LOWERING_RECORDING_TEXT_H_
#define BELAY_CONFORMANCE_LOWERING_RECORDING_TEXT_H_

#include <set>
#include <string>
#include <vector>

#include "conformance/lowering/json_value.h"
#include "exir/ir/exported_program.h"

namespace belay::conformance {

// `fqns`: the tensors that the exported program named.
std::string RecordingText(const exir::ExportedProgram& program, const std::set<std::string>& fqns);
// Of graphs as ToNormalForm() makes them, by path; the backend's id of each delegate by its number.
std::string RecordingText(const Json& graphs, const std::vector<std::string>& backend_ids);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_LOWERING_RECORDING_TEXT_H_
