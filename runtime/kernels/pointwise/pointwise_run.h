// Driver of pointwise loops over strided, broadcast and converted operands.
//
// Computes the result in row-major order. Contiguous operands of the loop's type are read in place.
// All others are copied to small buffers, a run at a time. Scalars and tensors of one element are
// converted once.
#ifndef BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_
#define BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/operands/pointwise.h"
#include "runtime/kernels/pointwise/loops.h"

namespace belay {

// A parsed call: operation and operands.
struct PointwiseRequest {
  // Loop, operand addresses and element count of a dense call, once fixed.
  struct Places {
    VectorLoop loop = nullptr;
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

  // Fixes a dense call that is too small for a second thread, or one of single elements of the
  // loop's type (KernelRow). Returns false for others.
  bool Fix(const KernelContext& context);
  void RunFixed() const { fixed.loop(fixed.from, fixed.to, fixed.count, params); }
};

// Returns whether RunRequest supports the call with a result of this dtype.
bool SupportsRequest(const PointwiseRequest& request, DType out);

// Broadcasts, resizes output 0 and fills it, as RunPointwise does. Precondition: SupportsRequest, for
// these or for earlier sizes of the same call.
absl::Status RunRequest(KernelContext& context, const PointwiseRequest& request);

// Sets the fast-path loop for float32 tensor operands: all of one gap-free layout, without
// broadcasting, promotion or cursors. Most calls in models are of this kind, often with small
// tensors. Precondition: operands, types, op and params are set.
void SetDense(PointwiseRequest& request);
// Computes a dense call. Returns false if the call is not dense.
absl::StatusOr<bool> RunDense(KernelContext& context, const PointwiseRequest& request);

// Returns the loop that computes in this dtype; null if not supported.
VectorLoop FindLoopFor(PointwiseOp op, DType compute);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_POINTWISE_RUN_H_
