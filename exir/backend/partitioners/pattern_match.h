// Finds the occurrences of a pattern of operators in a graph.
//
// Source: docs/lowering.md row 37 (b).
#ifndef BELAY_EXIR_BACKEND_PARTITIONERS_PATTERN_MATCH_H_
#define BELAY_EXIR_BACKEND_PARTITIONERS_PATTERN_MATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/graph.h"

namespace belay::exir {

struct PatternMatchOptions {
  // Numbers, strings and other literals need not be equal. Values still match only values.
  bool ignore_literals = false;
};

// Returns the nodes of each occurrence, in graph order. Occurrences are in the order of their last
// nodes and do not overlap: the first one that contains a node keeps it.
//
// A pattern is a graph without subgraphs. Its nodes match nodes of the same operator in any
// dialect. Its inputs match any value or literal; all uses of one input must match the same one. A
// result of a pattern node may be used outside the occurrence only if the pattern returns it.
// Pattern nodes that are not reachable backwards from the last node are matched through the users
// of values that already matched.
//   kInvalidArgument  the pattern has no nodes, has subgraphs or modules, or is not connected
// O(nodes * pattern) if values have few users of one operator.
absl::StatusOr<std::vector<std::vector<NodeId>>> FindPattern(
    const Graph& graph, const Graph& pattern, const PatternMatchOptions& options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_PARTITIONERS_PATTERN_MATCH_H_
