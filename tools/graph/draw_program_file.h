// Draws program files: the instructions in execution order.
#ifndef BELAY_TOOLS_GRAPH_DRAW_PROGRAM_FILE_H_
#define BELAY_TOOLS_GRAPH_DRAW_PROGRAM_FILE_H_

#include "absl/status/statusor.h"
#include "runtime/program/program.h"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Creates a node per instruction, named after its model node if the file has debug data, else
// "instruction 7". Inputs, constants that are read, and states have a node each. The source of an
// edge is the preceding instruction, in file order, that last wrote the value, or its bytes if
// views share memory. For a join, edges come from the first 16 writers of its pieces. Loop-carried
// values have no edge. Attributes of jumps name their targets. Delegates are not expanded.
// kResourceExhausted: not enough memory. O(file · log(file)).
absl::StatusOr<DrawnProgram> DrawProgramFile(const Program& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_DRAW_PROGRAM_FILE_H_
