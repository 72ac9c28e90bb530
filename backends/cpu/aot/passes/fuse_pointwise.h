#ifndef BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_POINTWISE_H_
#define BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_POINTWISE_H_

#include "backends/cpu/aot/fused_handles.h"
#include "exir/ir/graph.h"
#include "exir/pass/pass.h"

namespace belay::cpu {

// Whether the node is an elementwise operator on float32 that FusePointwise supports, apart from its
// scalar arguments. Results that have fewer than 512 elements for certain are not: reading them
// twice costs less than a group.
bool IsPointwiseOp(const exir::Graph& graph, exir::NodeId node);

// Fuses two or more elementwise operators into one belay_cpu::pointwise:
//
//   s = sigmoid(x); y = mul(x, s)  ->  pointwise([x], "sigmoid mul", [0, 0, 1], [])
//
// A group has one result. It contains an operand's producer if that has the sizes of the result, is
// supported, and has no users outside of the group; operands that broadcast remain inputs. Values are
// float32, or truth values inside of the group and as inputs. At most kMaxPointwiseSteps steps,
// kMaxPointwiseInputs inputs and kMaxPointwiseScalars scalars (backends/cpu/pointwise_calls.h).
//
// Top graph only. `handles` must outlive the pass. O(nodes).
exir::Pass FusePointwise(FusedHandles& handles);

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_AOT_PASSES_FUSE_POINTWISE_H_
