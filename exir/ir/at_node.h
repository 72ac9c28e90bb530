// Annotates errors with a node.
#ifndef BELAY_EXIR_IR_AT_NODE_H_
#define BELAY_EXIR_IR_AT_NODE_H_

#include "absl/status/status.h"
#include "exir/ir/graph.h"

namespace belay::exir {

// Appends the line "  at <DescribeNode(graph, node)>" to an error. Returns OK unchanged.
absl::Status AtNode(const absl::Status& status, const Graph& graph, NodeId node);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_AT_NODE_H_
