// Numerical gaps between the nodes of a program and their values after lowering.
#ifndef BELAY_TOOLS_BELAY_NODE_GAPS_H_
#define BELAY_TOOLS_BELAY_NODE_GAPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/compare/compare.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/loss.h"
#include "runtime/core/evalue.h"
#include "tools/belay/lowered_run.h"

namespace belay::tools {

struct NodeGap {
  std::string node;          // in text form, with its source line
  std::string backend;       // of the delegate that computes it; "" for a kernel
  exir::LossSums sums = {};  // over all elements of its floating-point results
  exir::Deviation largest = {};
};

// Lowers and executes the program with the values of its nodes as additional outputs, in groups of
// kMaxTaps nodes, interprets it, and measures the gaps of all nodes of the top graph with a
// floating-point tensor as result. The largest gap is first: the smallest SNR, then the order of
// the nodes. Additional outputs prevent fusion, as in a search for the first difference.
//   errors of lowering, interpreting and executing
absl::StatusOr<std::vector<NodeGap>> MeasureNodeGaps(const exir::ExportedProgram& program,
                                                     absl::Span<const EValue> inputs,
                                                     const LoweringSetup& setup);

}  // namespace belay::tools

#endif  // BELAY_TOOLS_BELAY_NODE_GAPS_H_
