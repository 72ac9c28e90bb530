// Programs parsed from text, for tests.
#ifndef BELAY_EXIR_TESTING_PROGRAMS_H_
#define BELAY_EXIR_TESTING_PROGRAMS_H_

#include <string_view>

#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"

namespace belay::exir {

// If the text does not parse, prints the error and terminates the process. The program need not
// verify.
ExportedProgram ParseOrDie(std::string_view text, const OpRegistry& ops);

// Finds a value by name in the graph; terminates the process if it is missing.
ValueId FindValue(const Graph& graph, std::string_view name);
// Finds a node by name.
NodeId FindNode(const Graph& graph, std::string_view name);

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_PROGRAMS_H_
