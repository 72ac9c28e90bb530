// How much memory the description of a program as JSON may take.
#ifndef BELAY_TOOLS_BELAY_PROGRAM_JSON_MEMORY_H_
#define BELAY_TOOLS_BELAY_PROGRAM_JSON_MEMORY_H_

#include <cstdint>

#include "runtime/program/program.h"

namespace belay::tools {

// An upper bound, in bytes, of what ProgramJson (program_json.h) makes and of the text that is
// printed of it. Linear time; allocates nothing.
uint64_t ProgramJsonMemory(const Program& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_PROGRAM_JSON_MEMORY_H_
