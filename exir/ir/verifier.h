// Checks that a program is well formed. Runs after every pass, after import and around lowering.
//
// Invariants, each with a test of its number:
//
//   - V1: Every value used by a node is defined before it: by an input, or by an earlier node of
//     the same graph.
//   - V2: Every value that a graph returns is defined in that graph.
//   - V3: Names of values are unique in a graph, names of nodes too, and none is empty.
//   - V4: Use lists agree with the arguments.
//   - V5: A node of an operator with a schema has one argument per schema argument, each of a kind
//     that its type accepts.
//   - V6: A node of an operator with a schema has one output per return, lists where the schema
//     has lists.
//   - V7: Each subgraph is used by exactly one node, subgraphs nest without cycles, and no graph
//     uses the top graph.
//   - V8: The signature has one entry per input and output of the top graph.
//   - V9: Parameters, buffers and tensor constants name a tensor that exists, with the dtype and
//     sizes of the input's value.
//   - V10: Mutation outputs name an existing buffer, parameter or user input, each at most once,
//     and are values of its dtype and shape.
//   - V11: Every symbol in a type has a range or appears in an input or an unbacked definition; no
//     size is negative for any value in its range.
//   - V12: Strides have the rank of the sizes.
//   - V13: Delegate calls name a module of the program, with as many arguments and results as its
//     original program has user inputs, and outputs that are not mutations it owns.
//   - V14: The operators are those of the dialect: no edge overloads in an ATen program; no raw
//     ATen overloads (other than scalar functions, see docs/edge-dialect.md §5) in an edge program.
//   - V15: No two inputs carry the same target unless both are of the same kind and dtype (tied
//     weights).
#ifndef BELAY_EXIR_IR_VERIFIER_H_
#define BELAY_EXIR_IR_VERIFIER_H_

#include "absl/status/status.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Returns whether a program of this dialect may contain the operator (V14). ATen overloads allowed
// in an edge program: operators on symbolic scalars, assertions on them, and scalar_tensor.
bool AllowedIn(IrDialect dialect, const OpOverload& op);

// Returns OK, or kFailedPrecondition with one line per violation: the invariant's number, the node
// in text form with its source line, expected and actual. Lists at most 100 violations, then the
// number of the others. Linear time. Does not verify the original programs of lowered modules: they
// are verified at creation and immutable.
absl::Status Verify(const ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_VERIFIER_H_
