// Decompositions of composite and non-core operators into other operators.
#ifndef BELAY_EXIR_BUILDER_DECOMPOSITION_TABLE_H_
#define BELAY_EXIR_BUILDER_DECOMPOSITION_TABLE_H_

#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "exir/builder/op_builder.h"
#include "exir/builder/op_call.h"

namespace belay::exir {

// A stateless composite kernel (exir/op_definition/op_registry.h), for tables. Emits nodes at the builder's
// insertion point and returns one argument per return of the operator: a list for Tensor[]. May
// call operators that are decomposed in turn. Errors go to the builder.
//
// Decomposition runs before functionalization, so aliasing must match the operator. A result that
// aliases an input must be the input itself or a view of it; any other result must not alias an
// input (clone).
using DecomposeFn = std::vector<Argument> (*)(OpBuilder& b, const OpCall& call);

// A row of an operator family's table.
struct Decomposition {
  std::string_view op;  // "aten.linear.default"; its schema is a row in exir/ops
  DecomposeFn decompose = nullptr;
};

// Runs `kernel` on the call. Returns one result per return of the operator, or none if the builder
// has failed. Fails before the kernel runs if a list has a wrong length (OpCall::CheckLists), so
// kernels may index lists up to the length that the schema gives. Fails with kInternal if the
// kernel returns another number of results.
std::vector<Argument> RunDecomposition(const CompositeFn& kernel, OpBuilder& b, const OpCall& call);

// Immutable.
class DecompositionTable {
 public:
  // The rows must outlive the table (they are constants). Of several rows for one operator, the
  // last is used.
  explicit DecompositionTable(absl::Span<const absl::Span<const Decomposition>> families);
  // Returns the row of the operator, for an edge overload the row of its ATen overload; nullptr if
  // the table has no such row.
  const Decomposition* Find(const OpOverload* op) const;
  // Sorted.
  std::vector<std::string_view> Ops() const;

 private:
  absl::flat_hash_map<std::string_view, const Decomposition*> by_op_;
};

}  // namespace belay::exir

#endif  // BELAY_EXIR_BUILDER_DECOMPOSITION_TABLE_H_
