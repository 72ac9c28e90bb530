#include "runtime/kernels/call/fold.h"

#include <optional>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/operands.h"

namespace belay {
namespace {

void Divide(Fold& fold) {
  const TensorView& self = *fold.self;
  for (int d = 0; d < self.rank(); ++d) {
    const bool folded = HasDim(fold.mask, d);
    (folded ? fold.folded : fold.kept).push_back(self.sizes[d]);
    (folded ? fold.folded_strides : fold.kept_strides).push_back(self.strides[d]);
  }
  fold.shape = FoldedShape<CheckedInt>(ToDims(self.sizes), fold.mask, fold.keepdim);
}

}  // namespace

Strides Fold::OutputStrides(const TensorView& out) const {
  Strides strides;
  for (int d = 0; d < out.rank(); ++d) {
    if (!keepdim || !HasDim(mask, d)) strides.push_back(out.strides[d]);
  }
  return strides;
}

absl::StatusOr<Fold> FoldOf(const KernelContext& context, DTypeSet allowed, DimsAre dims_are,
                            int dims_at, int keepdim_at) {
  Fold fold;
  ABSL_ASSIGN_OR_RETURN(fold.self, TensorOf(context, 0, "self", allowed));
  const int rank = fold.self->rank();
  if (dims_are == DimsAre::kAll || context.is_none(dims_at)) {
    fold.mask = AllDims(rank);
  } else if (dims_are == DimsAre::kOne || dims_are == DimsAre::kOptionalOne) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.Int(dims_at));
    ABSL_ASSIGN_OR_RETURN(fold.mask, FoldedDims(absl::MakeConstSpan(&dim, 1), rank));
  } else {
    ABSL_ASSIGN_OR_RETURN(const Sizes dims, context.IntList(dims_at));
    ABSL_ASSIGN_OR_RETURN(fold.mask,
                          FoldedDims(dims.span(), rank, dims_are == DimsAre::kExactList));
  }
  if (dims_are != DimsAre::kAll) {
    ABSL_ASSIGN_OR_RETURN(fold.keepdim, context.Bool(keepdim_at));
  }
  Divide(fold);
  return fold;
}

Fold FoldOneDim(const TensorView& self, int dim) {
  Fold fold;
  fold.self = &self;
  fold.keepdim = true;
  fold.mask = self.rank() == 0 ? 0 : uint32_t{1} << dim;
  Divide(fold);
  return fold;
}

}  // namespace belay
