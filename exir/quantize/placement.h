// Selects the operators and activations of a program that are quantized statically.
#ifndef BELAY_EXIR_QUANTIZE_PLACEMENT_H_
#define BELAY_EXIR_QUANTIZE_PLACEMENT_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "exir/backend/partitioner.h"
#include "exir/ir/exported_program.h"
#include "exir/quantize/weight_uses.h"

namespace belay::exir {

// An activation that is quantized after its producer.
struct QuantizedActivation {
  ValueId value;
  std::vector<NodeId> users;  // use it dequantized; in execution order, each once
  bool output = false;        // whether the graph returns it dequantized
  // Activations of equal group have the same parameters: operands and results of data movement.
  size_t group = 0;
  // The nodes of the only table that uses the activation, in execution order. Empty if other nodes
  // use activations of the group, except movement inside of the group.
  std::vector<NodeId> table;
};

struct Placement {
  std::vector<QuantizedActivation> activations;  // in the order of their definitions
  size_t groups = 0;
  // Anchors that the patterns exclude, in execution order. All others are computed on integers.
  std::vector<NodeId> rejected;
};

// Computes the placement for `anchors`, which have a constant weight.
//
// - The input of each anchor that the patterns accept is quantized.
// - Bounds (relu) whose operand has no other user belong to the anchor or sum before them.
// - Sums, tables and movement whose operands are results of quantized operators are quantized if a
//   quantized operator uses their result. So is movement of a float32 activation, if quantized
//   operators only use it; then its operand is quantized, once for all views of it.
// - Results of quantized operators are quantized if a quantized operator uses them, or if the
//   patterns need it. Then all users get the dequantized value.
//
// - With `quantizes_outputs`, results of quantized operators that are user outputs are quantized.
//
// All else, as softmax and norms, stays in float32. Deterministic. O(nodes).
Placement PlaceQuantization(const ExportedProgram& program, absl::Span<const WeightUse> anchors,
                            const QuantizationPatterns& patterns, bool quantizes_outputs = false);

}  // namespace belay::exir

#endif  // BELAY_EXIR_QUANTIZE_PLACEMENT_H_
