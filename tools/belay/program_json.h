// Describes a program file as JSON: all of its metadata.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_JSON_H_
#define BELAY_TOOLS_BELAY_PROGRAM_JSON_H_

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "runtime/program/program.h"

namespace belay::tools {

// Does not read constants. The sizes by owner add up to the file size. kResourceExhausted: not
// enough memory for the JSON and its string; a file may refer to one long string many times.
absl::StatusOr<nlohmann::json> ProgramJson(const Program& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_JSON_H_
