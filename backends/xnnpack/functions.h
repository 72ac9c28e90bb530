// Scalar reference loops for nodes that ExecuTorch's XNNPACK computes and the linked XNNPACK of
// 2022 does not, so that files with such nodes still run.
#ifndef BELAY_BACKENDS_XNNPACK_FUNCTIONS_H_
#define BELAY_BACKENDS_XNNPACK_FUNCTIONS_H_

#include "backends/xnnpack/operators.h"

namespace belay::xnnpack {

// Precondition: an FP32 node whose rule has `function`, with sizes of OutputSizes().
void ComputeFunction(const Node& node, const Operands& operands);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_FUNCTIONS_H_
