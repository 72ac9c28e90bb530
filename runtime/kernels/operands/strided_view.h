// Views of tensors with the layouts that shape rules compute
// (runtime/kernel_interface/shape_rules/strided.h).
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_STRIDED_VIEW_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_STRIDED_VIEW_H_

#include "absl/status/statusor.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

StridedDims<CheckedInt> LayoutOf(const TensorView& view);

// Distance in elements from the first to the last element; 0 for a tensor without elements.
// Precondition: a tensor of the runtime, whose extent fits in int64.
int64_t LastOffset(const TensorView& view);

// Returns the elements of `base` that `layout` selects. kOutOfRange unless all of them are between
// the first and last element of `base`. This check guarantees that no rule and no argument leads
// outside the operand.
absl::StatusOr<TensorView> ViewOf(const TensorView& base, const StridedDims<CheckedInt>& layout);

// Applies a view rule to `base`.
template <class Rule>
absl::StatusOr<TensorView> ApplyRule(const TensorView& base, const Rule& rule) {
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout, rule.Apply(LayoutOf(base)));
  return ViewOf(base, layout);
}

// Address of element `offset` of `base`. Precondition: the element exists.
inline void* ElementAddress(const TensorView& base, int64_t offset) {
  return static_cast<std::byte*>(base.data) + offset * static_cast<int64_t>(DTypeSize(base.dtype));
}

// Address of the part of `base` that begins `offset` elements after its first one. A tensor without
// elements may have no memory; its parts have the address of `base`.
inline void* PartAddress(const TensorView& base, int64_t offset) {
  return base.numel() == 0 ? base.data : ElementAddress(base, offset);
}

// Expands `from` to `sizes`; kInvalidArgument if it does not expand to them.
absl::StatusOr<TensorView> ExpandTo(const TensorView& from, absl::Span<const int64_t> sizes);

// Finishes a kernel that wrote to argument 0 and also returns it. Usually the result has the
// argument's slot. If the result has its own slot, the elements are copied.
absl::Status ReturnSelf(KernelContext& context, const TensorView& self);

// Copies the elements of `from` to `to`, both in row-major order of their indices, whatever their
// shapes. kInvalidArgument if the numbers of elements differ.
absl::Status CopyReshaped(const KernelContext& context, const TensorView& from,
                          const TensorView& to);

// Copies elements by index and converts the dtype, as CopyElements(from, to) does. A copy may use the
// threads of the context.
using CopyFn = absl::Status (*)(const KernelContext& context, const TensorView& from,
                                const TensorView& to);
inline absl::Status CopyElements(const KernelContext&, const TensorView& from,
                                 const TensorView& to) {
  return CopyElements(from, to);
}

// CopyReshaped with `copy` as the copy function.
absl::Status CopyReshapedWith(CopyFn copy, const KernelContext& context, const TensorView& from,
                              const TensorView& to);

// The real (0) or imaginary (1) parts of a complex64 tensor.
TensorView PartsOf(const TensorView& complex, int part);
// A complex64 tensor as floats, with a last dimension of both parts. Precondition: rank < kMaxRank.
TensorView PairsOf(const TensorView& complex);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_STRIDED_VIEW_H_
