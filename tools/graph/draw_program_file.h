// Draws program files: what is executed, in order.
#ifndef BELAY_TOOLS_GRAPH_DRAW_PROGRAM_FILE_H_
#define BELAY_TOOLS_GRAPH_DRAW_PROGRAM_FILE_H_

#include "absl/status/statusor.h"
#include "runtime/program/program.h"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// A node for each instruction, under the name of the node of the model where the file has debug data,
// else "instruction 7"; one for each input, for each constant that is read and for each state. An
// edge comes from the instruction before it, in file order, that last wrote to the value, or to its
// bytes where views share memory (of a join, from the first 16 that wrote a piece); what a loop hands
// on to its next turn has none. Jumps say in their attributes where they lead. Delegates are closed.
// kResourceExhausted when there is no memory for it. O(file · log(file)).
absl::StatusOr<DrawnProgram> DrawProgramFile(const Program& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_DRAW_PROGRAM_FILE_H_
