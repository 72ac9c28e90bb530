// Computes how closely the results of two executions of a program must agree if only some nodes may
// differ. A rounding difference in one node gives a bound for its users, unless a user is
// discontinuous: floor, comparisons and conversions to integers have no bound.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_RESULT_CLOSENESS_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_RESULT_CLOSENESS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "exir/compare/call.h"
#include "exir/ir/exported_program.h"

namespace belay::conformance {

// Ordered from the strictest to the weakest.
enum class Agreement : uint8_t {
  kSameBits,
  kClose,  // equal up to rounding
  kAny,    // no bound
};

// Returns the agreement of a node's results for equal operands.
using NodeAgreement = absl::FunctionRef<Agreement(const exir::Graph&, const exir::Node&)>;

// Returns whether the operator is discontinuous in a floating-point operand: it computes integers,
// bools or sizes from floating-point numbers, or rounds them.
bool IsStep(const exir::Graph& graph, const exir::Node& node);

// Returns the closeness of each output, mutated input and state tensor of `program`, which must be
// functional (no operators that write).
//   kSameBits     all nodes that it depends on are kSameBits
//   `close`       it depends on nodes of kClose
//   kAnyElements  it depends on nodes of kAny, or on a step (IsStep) after nodes of kClose
// Nodes with the same debug handle are one decomposed operator. Steps among them count only for
// operands from outside the operator. State that a call leaves is an input of the next call.
// Control flow counts as one node, with all of its subgraphs as steps. O(nodes), repeated for each
// state tensor that changes.
exir::CallCloseness ClosenessOfResults(const exir::ExportedProgram& program,
                                       const exir::Closeness& close, NodeAgreement agreement);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_RESULT_CLOSENESS_H_
