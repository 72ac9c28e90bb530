// Draws exported programs, of any dialect and stage.
#ifndef BELAY_TOOLS_GRAPH_DRAW_EXPORTED_H_
#define BELAY_TOOLS_GRAPH_DRAW_EXPORTED_H_

#include <string>

#include "exir/ir/exported_program.h"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Delegates are opened: their nodes stand where the call was, marked with the delegate, so that the
// graph is the model's whatever became of its parts. A module that is called several times is opened
// once; its other calls are nodes. Bodies are graphs of their own. Precondition: the program
// verifies. O(program, delegates included).
DrawnMethod DrawExported(std::string name, const exir::ExportedProgram& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_DRAW_EXPORTED_H_
