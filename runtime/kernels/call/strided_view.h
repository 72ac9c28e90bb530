// Tensors seen through the layouts that shape rules compute (runtime/kernel/shape_rules/strided.h).
#ifndef BELAY_RUNTIME_KERNELS_CALL_STRIDED_VIEW_H_
#define BELAY_RUNTIME_KERNELS_CALL_STRIDED_VIEW_H_

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_rules/strided.h"

namespace belay {

StridedDims<CheckedInt> LayoutOf(const TensorView& view);

// The distance in elements from the first to the last element; 0 for a tensor without elements.
// Precondition: a tensor of the runtime, whose extent fits in int64.
int64_t LastOffset(const TensorView& view);

// The elements of `base` that `layout` selects. kOutOfRange unless all of them lie between its
// first and its last, the proof that no rule and no argument leads out of the operand.
absl::StatusOr<TensorView> ViewOf(const TensorView& base, const StridedDims<CheckedInt>& layout);

// The view that a rule makes of `base`.
template <class Rule>
absl::StatusOr<TensorView> ApplyRule(const TensorView& base, const Rule& rule) {
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout, rule.Apply(LayoutOf(base)));
  return ViewOf(base, layout);
}

// `base` moved by `offset` elements. Precondition: the element exists.
inline void* ElementAddress(const TensorView& base, int64_t offset) {
  return static_cast<std::byte*>(base.data) + offset * static_cast<int64_t>(DTypeSize(base.dtype));
}

// Where the part of `base` begins that is `offset` elements behind its first one. A tensor without
// elements may have no memory: all its parts are where it is.
inline void* PartAddress(const TensorView& base, int64_t offset) {
  return base.numel() == 0 ? base.data : ElementAddress(base, offset);
}

// `from` repeated to `sizes`; kInvalidArgument when it does not expand to them.
absl::StatusOr<TensorView> ExpandTo(const TensorView& from, absl::Span<const int64_t> sizes);

// Ends a kernel that wrote to argument 0, which is its result, too. The result has the argument's
// slot; where it has one of its own, the elements are copied.
absl::Status ReturnSelf(KernelContext& context, const TensorView& self);

// Copies the elements of `from` to `to` in row-major order of the indices of each, whatever their
// shapes. kInvalidArgument when the numbers of elements differ.
absl::Status CopyReshaped(const TensorView& from, const TensorView& to);

// Copies elements by index, converting the dtype: CopyElements, or what keeps its contract.
using CopyFn = absl::Status (*)(const TensorView& from, const TensorView& to);

// CopyReshaped by means of `copy`.
absl::Status CopyReshapedWith(CopyFn copy, const TensorView& from, const TensorView& to);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_STRIDED_VIEW_H_
