// Graphviz.
#ifndef BELAY_TOOLS_GRAPH_DOT_H_
#define BELAY_TOOLS_GRAPH_DOT_H_

#include <string>
#include <string_view>

#include "tools/graph/drawn_program.h"

namespace belay::tools {

// One digraph with a cluster for each graph of each method; nodes are colored by backend, edges have
// types, dashed ones lead from a node to the bodies that it executes. Texts are quoted; bytes that are
// not UTF-8 are U+FFFD.
std::string DotText(std::string_view label, const DrawnProgram& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_DOT_H_
