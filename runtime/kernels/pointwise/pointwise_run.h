// Drives the loops of pointwise operators over strided, broadcast and converted operands.
//
// Works through the result in row-major order. Operands that lie side by side in the type of the
// loop are read in place; all others are brought into small buffers first, a run at a time, and
// numbers and tensors of one element are converted once.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernels/call/pointwise.h"
#include "runtime/kernels/pointwise/loops.h"

namespace belay {

// A call that was read: what is computed of which operands.
struct PointwiseRequest {
  // Where the operands of a dense call lie and how many elements they have, once that is fixed.
  struct Places {
    const void* from[2] = {};
    void* to = nullptr;
    size_t count = 0;
  };
  Places fixed;
  PointwiseOperands<KernelArguments> call;
  PointwiseOp op = PointwiseOp::kAdd;
  PointwiseParams params;
  bool exact_last = false;     // see RunPointwise
  VectorLoop dense = nullptr;  // see SetDense

  // Dense calls that no second thread would help with (KernelRow).
  bool Fix(const KernelContext& context);
  void RunFixed() const { dense(fixed.from, fixed.to, fixed.count, params); }
};

// Whether RunRequest computes it, into a result of this dtype.
bool TakesRequest(const PointwiseRequest& request, DType out);

// Broadcasts, resizes output 0 and fills it, as RunPointwise does.
// Precondition: TakesRequest, also for earlier sizes of the same call.
absl::Status RunRequest(KernelContext& context, const PointwiseRequest& request);

// For operands that are float32 tensors, sets the loop that computes them when they are of one
// layout without gaps, which needs no broadcast, promotion or cursor: most of what models compute,
// and many a tensor of it is small. Precondition: operands, types, op and params are set.
void SetDense(PointwiseRequest& request);
// Computes such a call. False: it is another one.
absl::StatusOr<bool> RunDense(KernelContext& context, const PointwiseRequest& request);

// The loop that computes in this dtype; null where there is none.
VectorLoop FindLoopFor(PointwiseOp op, DType compute);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_
