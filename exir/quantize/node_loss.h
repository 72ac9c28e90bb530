// Losses of the results of nodes of a quantized program over calibration data.
#ifndef BELAY_EXIR_QUANTIZE_NODE_LOSS_H_
#define BELAY_EXIR_QUANTIZE_NODE_LOSS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/calibration.h"
#include "exir/quantize/loss.h"
#include "runtime/kernel_interface/kernel_registry.h"

namespace belay::exir {

// A node of both programs with a float32 result. The loss includes the errors of all nodes before
// it.
struct NodeLoss {
  std::string node, op, module, source;  // of the float32 program
  LossSums sums;
};

struct NodeLosses {
  std::vector<NodeLoss> nodes;  // in execution order
  int calls = 0;                // that are compared
};

// Bytes of values that MeasureNodeLosses keeps.
inline constexpr uint64_t kMaxNodeLossBytes = uint64_t{1} << 30;

// Executes the calls with both programs, and compares the results of the nodes of the top graph.
// `quantized` is a changed copy of `program` with the same ValueIds. For results that another node
// computes, `replaced` maps the ValueId in `program` to that in `quantized`. Compares the first calls
// whose values fit in `max_bytes`, at least one. `progress` may be null. Errors of RunCalls.
absl::StatusOr<NodeLosses> MeasureNodeLosses(const ExportedProgram& program,
                                             const ExportedProgram& quantized,
                                             const std::map<ValueId, ValueId>& replaced,
                                             const KernelRegistry& kernels, CalibrationData& data,
                                             CallProgress* progress,
                                             uint64_t max_bytes = kMaxNodeLossBytes);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_NODE_LOSS_H_
