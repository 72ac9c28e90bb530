// Programs from text, for tests.
#ifndef BELAY_EXIR_TESTING_PROGRAMS_H_
#define BELAY_EXIR_TESTING_PROGRAMS_H_

#include <string_view>

#include "exir/ir/exported_program.h"
#include "exir/op/op_registry.h"

namespace belay::exir {

// Prints what is wrong and ends the process when the text does not parse. The program need not
// verify.
ExportedProgram ParseOrDie(std::string_view text, const OpRegistry& ops);

// The value of that name in the top graph (in `graph`); ends the process when there is none.
ValueId FindValue(const Graph& graph, std::string_view name);
// The node of that name.
NodeId FindNode(const Graph& graph, std::string_view name);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_PROGRAMS_H_
