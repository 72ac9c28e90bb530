// How alike the results of a program must be when it is computed in two ways that differ in some
// nodes only. Rounding that differs in one node is a bound in the next, but for a step: behind the
// floor, the comparison or the conversion to an integer of nearly the same number is any number.
#ifndef BELAY_CONFORMANCE_DIFFERENTIAL_RESULT_CLOSENESS_H_
#define BELAY_CONFORMANCE_DIFFERENTIAL_RESULT_CLOSENESS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "exir/engine/call.h"
#include "exir/ir/exported_program.h"

namespace belay::conformance {

// From the strictest to none.
enum class Agreement : uint8_t {
  kSameBits,
  kClose,  // rounded otherwise
  kAny,    // no bound holds
};

// What a node adds to that of its operands.
using NodeAgreement = absl::FunctionRef<Agreement(const exir::Graph&, const exir::Node&)>;

// Whether the operator's results jump where an operand passes some number: what makes integers,
// bools or sizes of floating point numbers, and what rounds them.
bool IsStep(const exir::Graph& graph, const exir::Node& node);

// The closeness of each output, input afterwards and state of `program`, which has no operators that
// write: kSameBits where no node before it is another; `close` behind nodes of kClose; kAnyElements
// behind nodes of kAny, and behind steps behind nodes of kClose. Nodes of one debug handle are one
// operator decomposed: steps among them are the operator's own and count for what comes from outside
// alone. State that a call leaves is what the next finds. Control flow counts as one node, all of its
// bodies as steps. O(nodes), once more for each state that changes.
exir::CallCloseness ClosenessOfResults(const exir::ExportedProgram& program,
                                       const exir::Closeness& close, NodeAgreement agreement);

}  // namespace belay::conformance

#endif  // BELAY_CONFORMANCE_DIFFERENTIAL_RESULT_CLOSENESS_H_
