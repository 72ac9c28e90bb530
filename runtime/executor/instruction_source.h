// Where in the model's source an instruction comes from, as far as the program says.
#ifndef BELAY_RUNTIME_EXECUTOR_INSTRUCTION_SOURCE_H_
#define BELAY_RUNTIME_EXECUTOR_INSTRUCTION_SOURCE_H_

#include <cstddef>
#include <string>

#include "runtime/program/program.h"

namespace belay {

// " from node 'add_3' at model.py:12", for messages; "" when the program has no debug information
// or it can't be read. `method` is one of the program's. Reads the debug segment: for errors only.
std::string InstructionSource(const Program& program, const MethodPlan& method, size_t instruction);

}  // namespace belay

#endif  // BELAY_RUNTIME_EXECUTOR_INSTRUCTION_SOURCE_H_
