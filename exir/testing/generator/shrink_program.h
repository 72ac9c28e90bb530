// Reduces programs that reproduce a fault.
#ifndef BELAY_EXIR_TESTING_GENERATOR_SHRINK_PROGRAM_H_
#define BELAY_EXIR_TESTING_GENERATOR_SHRINK_PROGRAM_H_

#include <functional>

#include "exir/ir/exported_program.h"

namespace belay::exir {

// Reduces the program while it still `fails`: drops tags, outputs and nodes, and replaces values by
// others of the same type. Calls `fails` at most `budget` times, only with programs that verify.
// Precondition: fails(program).
void ShrinkProgram(ExportedProgram& program,
                   const std::function<bool(const ExportedProgram&)>& fails, int budget = 2000);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_GENERATOR_SHRINK_PROGRAM_H_
