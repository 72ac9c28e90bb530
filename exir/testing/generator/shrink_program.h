// Makes programs that show a fault smaller.
#ifndef BELAY_EXIR_TESTING_GENERATOR_SHRINK_PROGRAM_H_
#define BELAY_EXIR_TESTING_GENERATOR_SHRINK_PROGRAM_H_

#include <functional>

#include "exir/ir/exported_program.h"

namespace belay::exir {

// Makes the program smaller as long as it still `fails`: drops tags, outputs, and nodes, and lets
// values take the place of others of their type. Calls `fails` at most `budget` times. `fails` sees
// only programs that verify. Precondition: fails(program).
void ShrinkProgram(ExportedProgram& program,
                   const std::function<bool(const ExportedProgram&)>& fails, int budget = 2000);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_SHRINK_PROGRAM_H_
