// Copies of a node with other operands.
#ifndef BELAY_EXIR_IR_NODE_LIKE_H_
#define BELAY_EXIR_IR_NODE_LIKE_H_

#include <vector>

#include "exir/ir/graph_editor.h"

namespace belay::exir {

// Returns a copy of `node` with these arguments, for GraphEditor to insert.
GraphEditor::NewNode NodeLike(const Node& node, std::vector<Argument> arguments);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_NODE_LIKE_H_
