// Loops of operators that index one dimension: gather and scatter with an index per element,
// index_select and index_add with an index per slice. Each index is checked when it is used (see
// index_walk.h for the reason).
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_GATHER_WALK_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_GATHER_WALK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/kernels/operands/index_walk.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// Views a tensor of rank 0 as a vector of one element.
inline TensorView AtLeastVector(TensorView view) {
  if (view.rank() == 0) {
    view.sizes = {1};
    view.strides = {1};
  }
  return view;
}

// Calls fn(self_offset, other_offset) for each element of `index`, at position p:
//
//   self_offset: element of `self` at p, with p[dim] replaced by index[p]
//   other_offset: element of `other` at p
//
// kOutOfRange at the first index outside [0, size). Precondition: the sizes fit
// (CheckGatherShapes), with `other` shaped as `index` or as src.
template <class Fn>
absl::Status WalkGather(const TensorView& self_view, int dim, const TensorView& index_view,
                        const TensorView& other_view, Fn&& fn) {
  if (index_view.numel() == 0) return absl::OkStatus();
  const TensorView self = AtLeastVector(self_view), index = AtLeastVector(index_view),
                   other = AtLeastVector(other_view);
  const int64_t size = self.sizes[dim], stride = self.strides[dim];
  Strides rest = self.strides;
  rest[dim] = 0;
  const int last = index.rank() - 1;
  const int64_t count = index.sizes[last], index_step = index.strides[last],
                other_step = other.strides[last], rest_step = rest[last];
  Sizes rows = index.sizes;
  rows[last] = 1;
  for (StridedIterator<3> it(rows, {index.strides, other.strides, rest}); !it.done(); it.Next()) {
    int64_t at = it.offset(0), from = it.offset(1), to = it.offset(2);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = ReadIndex(index, at);
      if (i < 0 || i >= size) return IndexOutOfRange(i, size, dim);
      fn(to + i * stride, from);
      at += index_step;
      from += other_step;
      to += rest_step;
    }
  }
  return absl::OkStatus();
}

// Calls fn(self_slice, other_slice) for each element k of the vector or scalar `index`: slice
// index[k] of `self` and slice k of `other` along `dim`. If `other` is null, both arguments are
// slice index[k]. fn returns a status. Slices without elements are skipped. With `wrap`, negative
// indices count from the end. kOutOfRange at the first invalid index. Precondition: the sizes fit
// (CheckIndexUpdateShapes).
template <class Fn>
absl::Status WalkSlices(const TensorView& self_view, int dim, const TensorView& index,
                        const TensorView* other_view, bool wrap, Fn&& fn) {
  const TensorView self = AtLeastVector(self_view);
  const TensorView other = other_view == nullptr ? self : AtLeastVector(*other_view);
  const int64_t size = self.sizes[dim], count = index.numel();
  TensorView self_slice = self, other_slice = other;
  self_slice.sizes.erase(dim);
  self_slice.strides.erase(dim);
  other_slice.sizes.erase(dim);
  other_slice.strides.erase(dim);
  const bool empty = self_slice.numel() == 0;
  for (int64_t k = 0; k < count; ++k) {
    int64_t i = ReadIndex(index, index.rank() == 0 ? 0 : k * index.strides[0]);
    if (i < (wrap ? -size : 0) || i >= size) return IndexOutOfRange(i, size, dim);
    if (empty) continue;
    if (i < 0) i += size;
    self_slice.data = ElementAddress(self, i * self.strides[dim]);
    other_slice.data =
        other_view == nullptr ? self_slice.data : ElementAddress(other, k * other.strides[dim]);
    ABSL_RETURN_IF_ERROR(fn(self_slice, other_slice));
  }
  return absl::OkStatus();
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_GATHER_WALK_H_
