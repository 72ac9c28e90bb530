// Finds the first node of a program whose value is not what it should be once the program was
// lowered.
#ifndef BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_
#define BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/engine/compare.h"
#include "exir/ir/exported_program.h"
#include "runtime/core/evalue.h"
#include "tools/belay/lowered_run.h"

namespace belay::tools {

struct NodeDifference {
  exir::NodeId id;         // in the top graph
  std::string node;        // in text form, with its source line
  std::string backend;     // whose delegate computes it; "" for a kernel
  std::string difference;  // where, what was expected, what came
  // Only seen when no other value was looked at: something was fused; or only when nothing behind it
  // was there, either.
  bool alone = false, cut = false;
};

// Gives the nodes of the top graph as further results, some at a time: the program with them is
// lowered and executed, and interpreted, and the values are compared in order. So a node is found
// inside of a delegate, too, which gets further results. Where the values of all are as they should
// be, or a backend can't give them, looks by halves for the first whose value differs when it alone is
// a further result, and then when it is the only one: the program ends there, and so does the part
// that a delegate gets. nullopt when there is none. `inputs` are not changed.
//   whatever lowering and executing return, when nothing was found where they did not fail
absl::StatusOr<std::optional<NodeDifference>> FindFirstDifference(
    const exir::ExportedProgram& program, absl::Span<const EValue> inputs,
    const LoweringSetup& setup, const exir::Closeness& closeness);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_FIRST_DIFFERENCE_H_
