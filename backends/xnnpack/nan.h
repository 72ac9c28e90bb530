// Restores NaN results that the library loses. XNNPACK of 2022 clamps the float32 results of many
// operators even without bounds, by an instruction that replaces NaN with the bound. Its maxima and
// minima return the other operand instead of NaN. PyTorch returns NaN there. Bounds of magnitudes
// nearly always prove that no NaN can occur; otherwise RestoreNan() is called.
#ifndef BELAY_BACKENDS_XNNPACK_NAN_H_
#define BELAY_BACKENDS_XNNPACK_NAN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "backends/xnnpack/graph.h"
#include "backends/xnnpack/operators.h"

namespace belay::xnnpack {

// Returns the largest |x| of `count` float32 numbers at any alignment; infinity if one is infinite
// or NaN. Reads them once.
float LargestMagnitude(const void* numbers, int64_t count);

// Whether the library loses NaN in the node's results: the node computes on FP32, and the library
// clamps its results.
bool LosesNan(const Graph& graph, const Node& node);

// The largest |x| of a node's weights and of its bias; 0 if absent or not FP32.
struct WeightMagnitudes {
  float filter = 0, bias = 0;
};
WeightMagnitudes WeightMagnitudesOf(const Graph& graph, const Node& node);

// Returns an upper bound of |x| over the node's results and all intermediate sums and products.
// Infinity if one may be infinite or NaN, and for nodes without a known bound. `inputs` are such
// bounds of the operands, except for weights.
float ResultMagnitude(const Node& node, const WeightMagnitudes& weights,
                      absl::Span<const float> inputs, const Operands& operands);

// Sets the results to NaN that are NaN by the node's definition; other results stay as the library
// computed them. Precondition: LosesNan(), and Value::constant is still valid. Costs as much as
// plain loops over the operands; for convolutions and linear layers, only over those of results
// that equal a bound.
void RestoreNan(const Graph& graph, const Node& node, const Operands& operands);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_NAN_H_
