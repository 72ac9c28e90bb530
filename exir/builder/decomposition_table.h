// Decompositions: what a composite or non-core operator means in terms of others.
#ifndef BELAY_EXIR_BUILDER_DECOMPOSITION_TABLE_H_
#define BELAY_EXIR_BUILDER_DECOMPOSITION_TABLE_H_

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"

namespace belay::exir {

// A composite kernel (exir/op/op_registry.h) without state, as tables have it. Makes the nodes (at the
// builder's place) and gives one argument per return of the operator: a list for Tensor[]. May use
// operators that are decomposed in their turn. What the operator returns as an alias of its input
// must be an alias here (the input itself, or views of it), and what it returns fresh must be fresh
// (clone), because decomposition comes before functionalization. Errors go to the builder.
using DecomposeFn = std::vector<Argument> (*)(OpBuilder& b, const OpCall& call);

// A row of a family's table.
struct Decomposition {
  std::string_view op;  // "aten.linear.default"; its schema is a row in exir/ops
  DecomposeFn decompose = nullptr;
};

// What `kernel` makes of the call: as many results as the operator has returns, or none and the
// builder has failed. Fails before the kernel runs for a list of a wrong length (OpCall::CheckLists),
// so that a kernel may index lists of as many elements as the schema says; with kInternal when it
// gives another number of results.
std::vector<Argument> RunDecomposition(const CompositeFn& kernel, OpBuilder& b, const OpCall& call);

// Immutable.
class DecompositionTable {
 public:
  // The rows must outlive the table (they are constants). A later row of the same operator counts.
  explicit DecompositionTable(absl::Span<const absl::Span<const Decomposition>> families);
  // Of an edge overload, the row of the one that it wraps; nullptr when there is none.
  const Decomposition* Find(const OpOverload* op) const;
  // Sorted.
  std::vector<std::string_view> Ops() const;

 private:
  absl::flat_hash_map<std::string_view, const Decomposition*> by_op_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_DECOMPOSITION_TABLE_H_
