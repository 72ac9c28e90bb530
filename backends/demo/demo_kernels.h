// Plain loops for the demo backend's instructions. All tensors are float32 with any strides.
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

// Returns the number of operands; 0 for an unknown operator.
int DemoOperandCount(DemoOp op);

// Returns the result's sizes. kInvalidArgument if the operands' sizes do not match. With `bounds`,
// the operand sizes are upper bounds and need not match; the result is then an upper bound as well.
absl::StatusOr<Sizes> DemoResultSizes(DemoOp op, absl::Span<const Sizes> operands, bool bounds);

// Cost: multiply-adds, or elements of the result. Saturates at 64 bits.
uint64_t DemoWork(DemoOp op, absl::Span<const Sizes> operands, const Sizes& result);

// Precondition: `result` has the sizes of DemoResultSizes and overlaps no operand.
void RunDemoKernel(const DemoKernelCall& call, absl::Span<const TensorView> operands,
                   const TensorView& result);

}  // namespace belay::demo

#endif  // BELAY_BACKENDS_DEMO_DEMO_KERNELS_H_
