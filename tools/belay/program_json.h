// What is in a program file, as JSON: everything that its metadata say.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_JSON_H_
#define BELAY_TOOLS_BELAY_PROGRAM_JSON_H_

#include "nlohmann/json.hpp"
#include "runtime/program/program.h"

namespace belay::tools {

// Reads no constants. The sizes by owner add up to the file's.
nlohmann::json ProgramJson(const Program& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_JSON_H_
