#include "runtime/kernels/operands/fold.h"

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

Fold FoldOf(const FoldCall<KernelArguments>& call) {
  Fold fold;
  fold.self = call.self;
  fold.mask = call.mask;
  fold.keepdim = call.keepdim;
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
