// Memory bound for the JSON description of a program.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_JSON_MEMORY_H_
#define BELAY_TOOLS_BELAY_PROGRAM_JSON_MEMORY_H_

#include <cstdint>

#include "runtime/program/program.h"

namespace belay::tools {

// Returns an upper bound, in bytes, for the result of ProgramJson (program_json.h) and its printed
// string. Linear time; does not allocate.
uint64_t ProgramJsonMemory(const Program& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_JSON_MEMORY_H_
