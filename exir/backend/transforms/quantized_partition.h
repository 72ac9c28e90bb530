// Rewrites dequantize -> compute -> quantize to one quantized operator, or removes the outermost
// conversions of a program.
//
// Source: docs/lowering.md row 57. For passes, and for backends that rewrite their programs in
// Preprocess.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_QUANTIZED_PARTITION_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_QUANTIZED_PARTITION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

struct QuantizedReplacement {
  NodeId node;  // the new node
  // The erased quantize and dequantize nodes; ids are those of the graph before the rewrite.
  std::vector<NodeId> dequantizes, quantizes;
};

// Replaces `nodes` of a graph, the dequantize nodes of their operands and the quantize nodes of
// their results by one call of `op`. The call's arguments are the quantized values and the operands
// from other nodes, in the order of the nodes' operands, followed by `more`. The call's results
// have the types and names of the quantize nodes' results. Provenance and debug handle are those of
// the last of `nodes`. A dequantize node that has other users is kept.
//   kInvalidArgument     `nodes` is empty or not in the graph; no operand is dequantized ("no
//                        dequantize") or no result quantized; a result has a user that is not a
//                        quantize node; `op` has another number of arguments or returns
//   kFailedPrecondition  a path from the nodes leads back to them, so that no position is valid
// On error nothing changes.
absl::StatusOr<QuantizedReplacement> ReplaceQuantizedPartition(
    Graph& graph, absl::Span<const NodeId> nodes, const OpOverload* op,
    const std::vector<Argument>& more = {});

// Removes conversions at the inputs and outputs of the program. A user input whose only users are
// quantize nodes with the same parameters is replaced by their quantized result. A user output
// computed by a dequantize node is replaced by the operand of that node. Returns the number of
// changed inputs and outputs.
struct RemovedConversions {
  size_t quantizes = 0, dequantizes = 0;
};
RemovedConversions RemoveFirstQuantizeAndLastDequantize(ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_QUANTIZED_PARTITION_H_
