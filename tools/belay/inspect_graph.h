// The graphs of `inspect --model-explorer` and `inspect --dot`.
#ifndef BELAY_TOOLS_BELAY_INSPECT_GRAPH_H_
#define BELAY_TOOLS_BELAY_INSPECT_GRAPH_H_

#include "absl/status/status.h"
#include "tools/belay/command.h"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Returns whether the options request a graph.
bool WantsGraph(const InspectOptions& options);

// Writes the requested graphs. Errors as WriteFileAtomically.
absl::Status WriteGraphs(const InspectOptions& options, const DrawnProgram& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_INSPECT_GRAPH_H_
