// Finds the first node of a program whose value is wrong after lowering.
#ifndef BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_
#define BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/compare/compare.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "tools/belay/lowered_run.h"

namespace belay::tools {

struct NodeDifference {
  exir::NodeId id;         // in the top graph
  std::string node;        // in text form, with its source line
  std::string backend;     // of the delegate that computes it; "" for a kernel
  std::string difference;  // location, expected and actual
  // `alone`: only seen when no other value was an output, so fusion is involved. `cut`: only seen
  // when the nodes after it were removed as well.
  bool alone = false, cut = false;
};

// Adds nodes of the top graph as outputs, in groups; lowers, executes and interprets the program
// with them, and compares the values in order. This also finds nodes inside delegates, which get
// the outputs. If all values match, or a backend cannot return them, bisects for the first node
// that differs as the only added output. Then bisects with the node as the only output, where the
// program and its delegates end. Returns nullopt if nothing differs. `inputs` are unchanged.
//   errors of lowering and executing, if no difference was found where both succeeded
absl::StatusOr<std::optional<NodeDifference>> FindFirstDifference(
    const exir::ExportedProgram& program, absl::Span<const EValue> inputs,
    const LoweringSetup& setup, const exir::Closeness& closeness);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_
