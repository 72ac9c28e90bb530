// NaN where the library loses it. XNNPACK of 2022 clamps the float32 results of many operators even when
// no bounds are asked for, by an instruction that takes a NaN for the bound; its maxima and minima take
// the other operand. PyTorch has NaN there. Where no NaN can be, which bounds of magnitudes show nearly
// always, nothing is to be done; else RestoreNan() puts them back.
#ifndef BELAY_BACKENDS_XNNPACK_NAN_H_
#define BELAY_BACKENDS_XNNPACK_NAN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/operators.h"

namespace belay::xnnpack {

// The largest |x| of so many float32 numbers at any address; infinity when one is infinite or NaN. It
// reads them once.
float LargestMagnitude(const void* numbers, int64_t count);

// Whether the node's results lack NaN that its operands cause: it computes on FP32, and the library clamps
// its results.
bool LosesNan(const Graph& graph, const Node& node);

// The largest |x| of a node's weights and of its bias; 0 of those that it does not have, or of other
// datatypes than FP32.
struct WeightMagnitudes {
  float filter = 0, bias = 0;
};
WeightMagnitudes WeightMagnitudesOf(const Graph& graph, const Node& node);

// At least the largest |x| of the node's results, and of every sum and product on the way to them;
// infinity when some may be infinite or NaN, and of nodes about which nothing is known. `inputs` are such
// bounds of the operands (not of weights).
float ResultMagnitude(const Node& node, const WeightMagnitudes& weights,
                      absl::Span<const float> inputs, const Operands& operands);

// Makes those results NaN which are NaN by the node's definition. The others stay as the library computed
// them. Precondition: LosesNan(), and Value::constant is still there. Takes as long as plain loops over the
// operands; of convolutions and linear layers, over those of the results that are one of the bounds.
void RestoreNan(const Graph& graph, const Node& node, const Operands& operands);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NAN_H_
