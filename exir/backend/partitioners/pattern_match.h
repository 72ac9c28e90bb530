// Where a pattern of operators occurs in a graph.
//
// Source: docs/lowering.md row 37 (b).
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_PATTERN_MATCH_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_PATTERN_MATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/graph.h"

namespace belay::exir {

struct PatternMatchOptions {
  // Numbers, texts and the like need not be equal; values still have to stand where values stand.
  bool ignore_literals = false;
};

// The nodes of each occurrence, in graph order; occurrences are in the order of their last nodes
// and do not overlap: the first that has a node keeps it.
//
// A pattern is a graph without bodies. Its nodes match nodes of the same operator, whatever the
// dialect, and its inputs match anything: a value, a literal; the same thing wherever the input
// stands. What a pattern's node computes may be used outside of an occurrence only where the
// pattern returns it. Nodes that nothing leads to from the pattern's last node are matched by the
// users of what matched before.
//   kInvalidArgument  the pattern has no nodes, has bodies or modules, or falls apart
// O(nodes * pattern) as long as values have few users of one operator.
absl::StatusOr<std::vector<std::vector<NodeId>>> FindPattern(
    const Graph& graph, const Graph& pattern, const PatternMatchOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_PATTERN_MATCH_H_
