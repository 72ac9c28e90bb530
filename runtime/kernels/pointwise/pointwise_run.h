// Drives the loops of pointwise operators over strided, broadcast and converted operands.
//
// Works through the result in row-major order. Operands that lie side by side in the type of the
// loop are read in place; all others are brought into small buffers first, a run at a time, and
// numbers and tensors of one element are converted once.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_

#include "absl/status/status.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernels/call/pointwise.h"
#include "runtime/kernels/pointwise/loops.h"

namespace belay {

// A call whose arguments were read.
struct PointwiseRequest {
  PointwiseCall call;
  PromotedTypes types = {DType::kFloat32, DType::kFloat32};
  PointwiseOp op = PointwiseOp::kAdd;
  PointwiseParams params;
  bool exact_last = false;  // see PointwiseCall::Execute
};

// Whether RunRequest computes it, into a result of this dtype.
bool TakesRequest(const PointwiseRequest& request, DType out);

// Broadcasts, resizes output 0 and fills it, as PointwiseCall::Execute does.
// Precondition: TakesRequest, also for earlier sizes of the same call.
absl::Status RunRequest(KernelContext& context, const PointwiseRequest& request);

// The loop that computes in this dtype; null where there is none.
VectorLoop FindLoopFor(PointwiseOp op, DType compute);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_
