// Quantized computations between integers: one operator in place of dequantize → compute →
// quantize, or the inner computation without its outermost conversions.
//
// Source: docs/lowering.md row 57. For backends, which change their programs in Preprocess, and for
// passes.
#ifndef BELAY_EXIR_BACKEND_TRANSFORMS_QUANTIZED_PARTITION_H_
#define BELAY_EXIR_BACKEND_TRANSFORMS_QUANTIZED_PARTITION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

struct QuantizedReplacement {
  NodeId node;  // what computes now
  // What was around it and is erased; ids of the graph before.
  std::vector<NodeId> dequantizes, quantizes;
};

// Replaces `nodes` of a graph, the dequantize nodes that they read and the quantize nodes that read
// them by one call of `op`. Its arguments are, in the order of the nodes' operands, what was
// dequantized, and the operands that come from elsewhere; then come `more`. Its results are those
// of the quantize nodes, with their types and names. Provenance and debug handle are those of the
// last of the nodes. A dequantize node that something else reads too stays.
//   kInvalidArgument     `nodes` is empty or not in the graph; nothing is dequantized ("no
//                        dequantize") or nothing quantized; a result is used otherwise than by
//                        quantize nodes; `op` takes another number of arguments or returns
//   kFailedPrecondition  a way from the nodes leads back to them, so that no place is right
// On error nothing changed.
absl::StatusOr<QuantizedReplacement> ReplaceQuantizedPartition(
    Graph& graph, absl::Span<const NodeId> nodes, const OpOverload* op,
    const std::vector<Argument>& more = {});

// Lets the program take and give integers where it converts: a user input whose only users are
// quantize nodes of the same parameters becomes their result, and a user output that a dequantize
// node makes becomes what it reads. Returns how many inputs and outputs changed.
struct RemovedConversions {
  size_t quantizes = 0, dequantizes = 0;
};
RemovedConversions RemoveFirstQuantizeAndLastDequantize(ExportedProgram& program);

}  // namespace belay::exir

#endif  // BELAY_EXIR_BACKEND_TRANSFORMS_QUANTIZED_PARTITION_H_
