// Errors that name the node at which they came up.
#ifndef BELAY_EXIR_IR_AT_NODE_H_
#define BELAY_EXIR_IR_AT_NODE_H_

#include "absl/status/status.h"
#include "exir/ir/graph.h"

namespace belay::exir {

// The error, followed by the line "  at <DescribeNode(graph, node)>". What is no error stays as it
// is.
absl::Status AtNode(const absl::Status& status, const Graph& graph, NodeId node);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_AT_NODE_H_
