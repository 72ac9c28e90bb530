// What the demo backend's instructions compute, plainly. All tensors are float32 with any strides.
#ifndef BELAY_BACKENDS_DEMO_DEMO_KERNELS_H_
#define BELAY_BACKENDS_DEMO_DEMO_KERNELS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backends/demo/demo_blob.pb.h"
#include "runtime/core/sizes.h"
#include "runtime/core/tensor_view.h"

namespace belay::demo {

struct DemoKernelCall {
  DemoOp op = DEMO_OP_UNSPECIFIED;
  float alpha = 1, beta = 1;
};

// How many operands the operator has; 0 when it is unknown.
int DemoOperandCount(DemoOp op);

// The result's sizes. kInvalidArgument when the operands' sizes do not fit each other; with
// `bounds` they are upper bounds, which need not: then the result is an upper bound for all sizes
// below.
absl::StatusOr<Sizes> DemoResultSizes(DemoOp op, absl::Span<const Sizes> operands, bool bounds);

// The multiply-adds of it, or the elements of its result; of what no number of 64 bits is, the most.
uint64_t DemoWork(DemoOp op, absl::Span<const Sizes> operands, const Sizes& result);

// Precondition: `result` has the sizes that DemoResultSizes gives, and overlaps no operand.
void RunDemoKernel(const DemoKernelCall& call, absl::Span<const TensorView> operands,
                   const TensorView& result);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_KERNELS_H_
