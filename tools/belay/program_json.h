// What is in a program file, as JSON: everything that its metadata say.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_JSON_H_
#define BELAY_TOOLS_BELAY_PROGRAM_JSON_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/program/program.h"

namespace belay::tools {

// Reads no constants. The sizes by owner add up to the file's. kResourceExhausted when there is no
// memory for it and for its text: a file may refer to one long text from many places.
absl::StatusOr<nlohmann::json> ProgramJson(const Program& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_JSON_H_
