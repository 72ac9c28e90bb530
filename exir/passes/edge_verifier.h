// Whether a program is one of the edge dialect: which operators, which orders of dimensions, which
// dtypes.
//
// Source: docs/edge-dialect.md §4, §5. What makes a program well formed is exir/ir/verifier.h's.
#ifndef BELAY_EXIR_PASSES_EDGE_VERIFIER_H_
#define BELAY_EXIR_PASSES_EDGE_VERIFIER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exir/ir/exported_program.h"
#include "exir/pass/pass.h"

namespace belay::exir {

struct EdgeVerifierOptions {
  // Operators with memory formats (_to_copy, empty, clone) must be dim order operators; false: dim
  // order operators must not appear.
  bool dim_order = true;
  bool check_core = true;    // E2
  bool check_dtypes = true;  // E6
  // E5 does not hold: constants have any order of dimensions. For programs that go straight to
  // emission (PropagateConstants).
  bool any_order = false;
  // 8 bit floats are none of the edge dialect's dtypes. true: nodes with such tensors are not held
  // to E6.
  bool allow_float8 = false;
  // OpOverload::name() of operators that need not be core.
  std::vector<std::string> core_exceptions = {};
  // Operators that were kept from decomposition: they need not be core, and must not be views.
  std::vector<const OpOverload*> preserved = {};
};

// Rules, each with a test of its number:
//   E1  Operators with tensors are edge or backend overloads, but for what AllowedIn lets stay.
//   E2  Operators of the namespace aten are core, view_copy or exceptions. Other namespaces pass.
//   E3  No preserved operator is a view.
//   E4  Memory formats are dim orders (or none is; options.dim_order).
//   E5  Parameters, buffers and tensor constants are contiguous or channels last.
//   E6  The dtypes of each node's tensors are a row of its operator's rule (exir/op/dtype_rule.h).
//   E7  Lowered modules name a backend, and hold edge programs that follow the same rules.
//
// OK, or kFailedPrecondition with one line per violation: the rule, the node in text form with its
// source line, what was expected and what is there. All graphs, and all programs of delegates and
// of theirs, are looked into: nothing stops at control flow. At most 100 violations are listed,
// then their number. O(nodes + constants).
absl::Status VerifyEdge(const ExportedProgram& program, const EdgeVerifierOptions& options = {});

// The same as a pass, which changes nothing.
Pass EdgeVerifier(EdgeVerifierOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_EDGE_VERIFIER_H_
