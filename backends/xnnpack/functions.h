// Nodes that ExecuTorch's XNNPACK computes and that of 2022 does not: here, one number after the other,
// so that a file with one of them runs at all.
#ifndef BELAY_BACKENDS_XNNPACK_FUNCTIONS_H_
#define BELAY_BACKENDS_XNNPACK_FUNCTIONS_H_

#include "backends/xnnpack/operators.h"

namespace belay::xnnpack {

// Precondition: a node of FP32 whose rule says `function`, with sizes of OutputSizes().
void ComputeFunction(const Node& node, const Operands& operands);

}  // namespace belay::xnnpack

#endif  // BELAY_BACKENDS_XNNPACK_FUNCTIONS_H_
