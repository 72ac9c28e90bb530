// Classifies nodes by a table of operators, for pattern matching.
#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_NODE_KINDS_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_NODE_KINDS_H_

#include <optional>

#include "absl/types/span.h"
#include "exir/ir/graph.h"
#include "exir/op/op_registry.h"
#include "exir/op/op_table.h"

namespace belay::cpu {

// `Row` has the operator's name, `op`, and a `kind` (exir/op/op_table.h). The graph, the registry
// and the rows must outlive this; the graph may change meanwhile.
template <class Row>
class NodeKinds {
 public:
  using Kind = decltype(Row::kind);

  NodeKinds(const exir::Graph& graph, const exir::OpRegistry& ops, absl::Span<const Row> rows)
      : graph_(graph), table_(ops, rows) {}

  // Whether the id is valid and the node is of this kind.
  bool Is(exir::NodeId id, Kind kind) const {
    const Row* row = id.valid() ? table_.Find(graph_.node(id).target) : nullptr;
    return row != nullptr && row->kind == kind;
  }
  // The node that computes the value, if it is of this kind.
  std::optional<exir::NodeId> Producer(exir::ValueId value, Kind kind) const {
    const exir::NodeId producer = graph_.value(value).producer;
    return Is(producer, kind) ? std::optional(producer) : std::nullopt;
  }

 private:
  const exir::Graph& graph_;
  const exir::OpTable<Row> table_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_NODE_KINDS_H_
