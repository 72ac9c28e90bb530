// Google's Model Explorer: its JSON graph collection, which it opens as a file.
#ifndef BELAY_TOOLS_GRAPH_MODEL_EXPLORER_H_
#define BELAY_TOOLS_GRAPH_MODEL_EXPLORER_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// {"label", "graphs": [{"id", "nodes": […]}]}: a graph for each graph of each method, the first
// without a suffix. Nodes are numbered; they are folded by module ("namespace"), those of a delegate
// are colored by its backend, bodies are "subgraphIds", types are on the edges ("tensor_shape").
nlohmann::json ModelExplorerJson(std::string label, const DrawnProgram& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_MODEL_EXPLORER_H_
