// Checks that a program is of the edge dialect: operators, dim orders, dtypes.
//
// Source: docs/edge-dialect.md §4, §5. exir/ir/verifier.h checks that a program is well formed.
#ifndef BELAY_EXIR_PASSES_EDGE_VERIFIER_H_
#define BELAY_EXIR_PASSES_EDGE_VERIFIER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exir/ir/exported_program.h"
#include "exir/pass_manager/pass.h"

namespace belay::exir {

struct EdgeVerifierOptions {
  // true: operators with memory formats (_to_copy, empty, clone) must be dim order operators;
  // false: dim order operators are not allowed.
  bool dim_order = true;
  bool check_core = true;    // E2
  bool check_dtypes = true;  // E6
  // Disables E5: constants may have any order of dimensions. For programs that are emitted next
  // (PropagateConstants).
  bool any_order = false;
  // 8-bit floats are not dtypes of the edge dialect. true: nodes with such tensors are exempt from
  // E6.
  bool allow_float8 = false;
  // OpOverload::name() of operators that need not be core.
  std::vector<std::string> core_exceptions = {};
  // Operators that were kept from decomposition: they need not be core, and must not be views.
  std::vector<const OpOverload*> preserved = {};
};

// Rules, each with a test of its number:
//   E1  Operators with tensors are edge or backend overloads, or allowed by AllowedIn.
//   E2  Operators of the namespace aten are core, view_copy or exceptions. Other namespaces pass.
//   E3  No preserved operator is a view.
//   E4  Operators use dim orders instead of memory formats (or the reverse; options.dim_order).
//   E5  Parameters, buffers and tensor constants are contiguous or channels last.
//   E6  The dtypes of each node's tensors are a row of its operator's rule (exir/op_definition/dtype_rule.h).
//   E7  Lowered modules name a backend, and hold edge programs that follow the same rules.
//
// Returns OK, or kFailedPrecondition with one line per violation: the rule, the node in text form
// with its source line, expected and actual. Checks all graphs, including control-flow subgraphs,
// and all programs of delegates and nested delegates. Lists at most 100 violations, then the number
// of the others. O(nodes + constants).
absl::Status VerifyEdge(const ExportedProgram& program, const EdgeVerifierOptions& options = {});

// The same as a pass; changes nothing.
Pass EdgeVerifier(EdgeVerifierOptions options = {});

}  // namespace belay::exir

#endif  // BELAY_EXIR_PASSES_EDGE_VERIFIER_H_
