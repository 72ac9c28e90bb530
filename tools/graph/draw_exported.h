// Draws exported programs, of any dialect and stage.
#ifndef BELAY_TOOLS_GRAPH_DRAW_EXPORTED_H_
#define BELAY_TOOLS_GRAPH_DRAW_EXPORTED_H_

#include <string>

#include "exir/ir/exported_program.h"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Delegates are expanded: their nodes replace the call and are marked with the delegate, so that
// the drawing matches the model's structure. A module with several calls is expanded once; its
// other calls are nodes. Subgraphs are separate graphs. Precondition: the program verifies.
// O(program, delegates included).
DrawnMethod DrawExported(std::string name, const exir::ExportedProgram& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_DRAW_EXPORTED_H_
