// index_select, parameterized by the function that copies slices.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_INDEX_SELECT_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_INDEX_SELECT_H_

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/gather.h"
#include "runtime/kernels/operands/gather_walk.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

template <CopyFn kCopy>
absl::Status IndexSelect(KernelContext& context, const IndexSelectCall<KernelArguments>& call) {
  const TensorView from = *call.self, places = *call.index;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  const int d = *NormalizeDim(call.dim, from.rank());  // valid, since call.Shape() succeeded
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, from.dtype, dims));
  return WalkSlices(from, d, places, out, /*wrap=*/false,
                    [&](const TensorView& slice, const TensorView& target) {
                      return kCopy(context, slice, target);
                    });
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_INDEX_SELECT_H_
