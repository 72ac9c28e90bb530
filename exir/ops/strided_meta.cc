#include "exir/ops/strided_meta.h"

#include <utility>

#include "absl/status/status.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {

absl::StatusOr<StridedDims<SymInt>> LayoutOf(const TensorMeta& meta) {
  ABSL_RETURN_IF_ERROR(CheckRank(meta.sizes.size()));
  if (meta.strides.size() != meta.sizes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor with ", meta.sizes.size(),
                                                   " sizes and ", meta.strides.size(), " strides"));
  }
  return StridedDims<SymInt>{meta.sizes, meta.strides, meta.storage_offset};
}

TensorMeta ViewOf(const TensorMeta& base, StridedDims<SymInt> layout) {
  TensorMeta view = base;
  view.sizes = std::move(layout.sizes);
  view.strides = std::move(layout.strides);
  view.storage_offset = std::move(layout.offset);
  return view;
}

TensorMeta CopyOf(const TensorMeta& base, std::vector<SymInt> sizes) {
  TensorMeta copy = TensorMeta::Contiguous(base.dtype, std::move(sizes));
  copy.device = base.device;
  return copy;
}

TensorMeta SameStrides(const TensorMeta& like) {
  TensorMeta out = PointwiseResult(like.dtype, like.sizes, {&like});
  out.device = like.device;
  // From the innermost dimension outwards, each stride must exceed the extent of the inner
  // dimensions.
  const absl::StatusOr<DimOrder> order = DimOrderOf(like);
  if (!order.ok()) return out;
  SymInt extent = 1;
  for (int i = order->size() - 1; i >= 0; --i) {
    const int d = (*order)[i];
    if (like.sizes[d].AsInt() == 1) continue;
    if (KnownLessEqual(extent, like.strides[d]) == false) return out;
    extent = like.strides[d] * like.sizes[d];
  }
  out.strides = like.strides;
  return out;
}

}  // namespace belay::exir
