// Makes a program that is lowered wrongly as small as it can be and still be lowered wrongly.
#ifndef BELAY_TOOLS_BELAY_REDUCE_FAILURE_H_
#define BELAY_TOOLS_BELAY_REDUCE_FAILURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/engine/compare.h"
#include "exir/interpreter/owned_value.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "tools/belay/lowered_run.h"

namespace belay::tools {

// A part of a program, with a call of which the lowered part gives something else.
struct ReducedFailure {
  exir::ExportedProgram program;
  std::vector<exir::OwnedValue> inputs, outputs;  // of the call, as they should be
  std::string difference;
};

// Looks for the fewest nodes before and with `node`, of the top graph, whose result differs when
// they are lowered by themselves. What was computed before them is an input, with the value that it
// has in this call of the whole program. First nodes are added until the result differs, those that
// are nearest first; then groups of them are left out, larger ones first, as long as it still does.
//   kNotFound  the result of `node` is right in every part that was tried: what is wrong needs more
//              of the program, or sizes that are not known in a part
//   whatever interpreting the whole program returns
absl::StatusOr<ReducedFailure> ReduceFailure(const exir::ExportedProgram& program,
                                             absl::Span<const EValue> inputs, exir::NodeId node,
                                             const LoweringSetup& setup,
                                             const exir::Closeness& closeness);

// Writes DIRECTORY/program.bir, input_<i>.npy and output_<i>.npy, which `belay verify` and
// `belay_program_test` take, and makes the directory. Errors of writing files.
absl::Status WriteFailure(const ReducedFailure& failure, const std::string& directory);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_REDUCE_FAILURE_H_
