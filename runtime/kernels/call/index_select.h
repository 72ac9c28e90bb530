// index_select, by what moves the slices.
#ifndef BELAY_RUNTIME_KERNELS_CALL_INDEX_SELECT_H_
#define BELAY_RUNTIME_KERNELS_CALL_INDEX_SELECT_H_

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_rules/index.h"
#include "runtime/kernels/call/gather_walk.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/strided_view.h"

namespace belay {

template <CopyFn kCopy>
absl::Status IndexSelect(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* index, TensorOf(context, 2, "index", kIndexTypes));
  const TensorView from = *self, places = *index;
  ABSL_ASSIGN_OR_RETURN(
      const Dims<CheckedInt> dims,
      IndexSelectShape<CheckedInt>(ToDims(from.sizes), dim, ToDims(places.sizes)));
  ABSL_ASSIGN_OR_RETURN(const int d, NormalizeDim(dim, from.rank()));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, from.dtype, dims));
  return WalkSlices(from, d, places, out, /*wrap=*/false, kCopy);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_INDEX_SELECT_H_
