#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_POINTWISE_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_POINTWISE_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/ir/graph.h"
#include "exir/pass_manager/pass.h"

namespace belay::cpu {

// Whether FusePointwise supports the node's operator, dtypes and sizes; does not check its scalar
// arguments. False for results with certainly fewer than 512 elements: fusion does not pay off.
bool IsPointwiseOp(const exir::Graph& graph, exir::NodeId node);

// Fuses two or more elementwise operators into one belay_cpu::pointwise:
//
//   s = sigmoid(x); y = mul(x, s)     ->  pointwise([x], "sigmoid mul", [0, 0, 1], [])
//   y = relu(float32(x)), x bfloat16  ->  pointwise([x], "relu", [0], [])
//   y = bfloat16(add(x, x))           ->  pointwise([x], "add bfloat16", [0, 0, 1], [])
//   y = quantize(mul(dequantize(q), x))
//                            ->  pointwise([q, x], "dequantize mul quantize", [0, …], [z, s, …])
//
// Conversions between float32 and bfloat16 that keep the layout count as elementwise operators.
// Results of bfloat16 are rounded by a step of their own. A group has one float32 or bfloat16
// result; other values may also be truth values. It contains an operand's producer if that is
// supported, has the sizes of the result, and has no users outside of the group. Operands that
// broadcast remain inputs. quantize_per_tensor to uint8 can be the last operator.
// dequantize_per_tensor may have other users, which keep it. Limits: kMaxPointwiseSteps,
// kMaxPointwiseInputs and kMaxPointwiseScalars (backends/cpu/pointwise_calls.h).
//
// Top graph only. `handles` must outlive the pass. O(nodes).
exir::Pass FusePointwise(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_POINTWISE_H_
