#ifndef BELAY_EXIR_PASSES_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
#define BELAY_EXIR_PASSES_ELIMINATE_COMMON_SUBEXPRESSIONS_H_

#include <functional>

#include "exir/ir/graph_editor.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

// Replaces a node by an earlier node of the same graph with the same operator, arguments and result
// types:
//
//   %a = cos(%x); %b = cos(%x); %c = mul(%a, %b)   ->   %a = cos(%x); %c = mul(%a, %a)
//
// Not merged: nodes whose result is an output of the graph, nodes with different delegation tags,
// random operators, operators with side effects or subgraphs. Quantize and dequantize nodes are not
// merged either: backends match patterns in which each has one user. A graph with operators that
// write to their arguments is not changed, because equal nodes may read different elements.
// O(nodes * log(nodes)). Counterpart of ExecuTorch's CSEPass. `merge`, if set, is called before a node is erased,
// to record its debug handle for the other node.
Pass EliminateCommonSubexpressions(
    std::function<void(GraphEditor&, NodeId kept, NodeId erased)> merge = nullptr);

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_ELIMINATE_COMMON_SUBEXPRESSIONS_H_
