// Source locations of instructions, from a program's debug information.
#ifndef BELAY_RUNTIME_EXECUTOR_INSTRUCTION_SOURCE_H_
#define BELAY_RUNTIME_EXECUTOR_INSTRUCTION_SOURCE_H_

#include <cstddef>
#include <string>

#include "runtime/program/program.h"

namespace belay {

// Returns " from node 'add_3' at model.py:12", for messages; "" if the program has no debug
// information or it can't be parsed. `method` must belong to the program. Reads the debug segment:
// only for errors.
std::string InstructionSource(const Program& program, const MethodPlan& method, size_t instruction);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_INSTRUCTION_SOURCE_H_
