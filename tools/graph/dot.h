// Writes Graphviz DOT.
#ifndef BELAY_TOOLS_GRAPH_DOT_H_
#define BELAY_TOOLS_GRAPH_DOT_H_

#include <string>
#include <string_view>

#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Returns one digraph with a cluster per graph of each method. Nodes are colored by backend, edges
// are labeled with types, and dashed edges lead from a node to the subgraphs that it executes.
// Strings are quoted; bytes that are not UTF-8 become U+FFFD.
std::string DotText(std::string_view label, const DrawnProgram& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_DOT_H_
