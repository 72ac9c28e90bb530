// Nodes that make the call of another one with other operands.
#ifndef BELAY_EXIR_IR_NODE_LIKE_H_
#define BELAY_EXIR_IR_NODE_LIKE_H_

#include <vector>

#include "exir/ir/graph_editor.h"

namespace belay::exir {

// All that `node` is, for GraphEditor to insert, but with these arguments.
GraphEditor::NewNode NodeLike(const Node& node, std::vector<Argument> arguments);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_NODE_LIKE_H_
