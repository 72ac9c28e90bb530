// Reduces a wrongly lowered program to a minimal part that still fails.
#ifndef BELAY_TOOLS_BELAY_REDUCE_FAILURE_H_
#define BELAY_TOOLS_BELAY_REDUCE_FAILURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/compare/compare.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "tools/belay/lowered_run.h"

namespace belay::tools {

// A part of a program, and a call whose lowered result is wrong.
struct ReducedFailure {
  exir::ExportedProgram program;
  std::vector<exir::OwnedValue> inputs, outputs;  // of the call; outputs are the expected ones
  std::string difference;
};

// Searches for the smallest set of top-graph nodes that includes `node` and still gives a wrong
// result when lowered separately. Values computed before the set are its inputs, with their values
// in this call of the whole program. First adds the nearest predecessors until the result differs;
// then removes groups of nodes, largest first, while it still differs.
//   kNotFound  the result of `node` is correct in every part that was tried: the failure needs more
//              of the program, or sizes that are unknown in a part
//   errors of interpreting the whole program
absl::StatusOr<ReducedFailure> ReduceFailure(const exir::ExportedProgram& program,
                                             absl::Span<const EValue> inputs, exir::NodeId node,
                                             const LoweringSetup& setup,
                                             const exir::Closeness& closeness);

// Creates the directory and writes DIRECTORY/program.bir, input_<i>.npy and output_<i>.npy, the
// inputs of `belay verify` and `belay_program_test`. Errors of writing files.
absl::Status WriteFailure(const ReducedFailure& failure, const std::string& directory);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_REDUCE_FAILURE_H_
