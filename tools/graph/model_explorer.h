// Writes the JSON graph collection of Google's Model Explorer, which opens it as a file.
#ifndef BELAY_TOOLS_GRAPH_MODEL_EXPLORER_H_
#define BELAY_TOOLS_GRAPH_MODEL_EXPLORER_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/graph/drawn_program.h"

namespace belay::tools {

// Returns {"label", "graphs": [{"id", "nodes": […]}]}, with one graph per graph of each method; the
// first has no suffix. Nodes are numbered and grouped by module ("namespace"). Delegated nodes have
// their backend's color, subgraphs are "subgraphIds", and types are on the edges ("tensor_shape").
nlohmann::json ModelExplorerJson(std::string label, const DrawnProgram& program);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_GRAPH_MODEL_EXPLORER_H_
