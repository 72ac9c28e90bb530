// View operators: the kernel of a view form and of its copy is the same, because a kernel's output
// has memory of its own.

#include <complex>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/slice.h"
#include "runtime/kernel/shape_rules/view.h"
#include "runtime/kernels/call/element_access.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/strided_view.h"
#include "runtime/kernels/call/view_kernels.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Copies the elements that `layout`, in elements of `dtype`, selects from the bytes of `self`.
absl::Status CopyReinterpreted(KernelContext& context, const TensorView& self, DType dtype,
                               const StridedDims<CheckedInt>& layout) {
  // Seen as a row of elements of the new dtype, a tensor ends where its last old element does.
  const CheckedInt bytes =
      (CheckedInt(LastOffset(self)) + 1) * CheckedInt(static_cast<int64_t>(DTypeSize(self.dtype)));
  TensorView row = TensorView::Contiguous(dtype, {}, self.data);
  row.sizes = {self.numel() == 0 ? 0 : bytes.value() / static_cast<int64_t>(DTypeSize(dtype))};
  row.strides = {1};
  ABSL_ASSIGN_OR_RETURN(const TensorView view, ViewOf(row, layout));
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(0));
  if (planned->dtype != dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("output 0: expected ", DTypeName(dtype), ", got ", DTypeName(planned->dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, view.sizes));
  return CopyElements(view, *out);
}

absl::Status ViewDtype(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.Dtype(1));
  ABSL_ASSIGN_OR_RETURN(
      const StridedDims<CheckedInt> layout,
      ReinterpretDims(LayoutOf(*self), static_cast<int64_t>(DTypeSize(self->dtype)),
                      static_cast<int64_t>(DTypeSize(dtype))));
  return CopyReinterpreted(context, *self, dtype, layout);
}

absl::Status ViewAsReal(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self,
                        TensorOf(context, 0, "self", kComplexTypes | DTypeSet{DType::kComplex32}));
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout,
                        ViewAsRealRule::Apply(LayoutOf(*self), KernelArgs(context)));
  return CopyReinterpreted(context, *self, RealPart(self->dtype), layout);
}

absl::Status ViewAsComplex(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  ABSL_ASSIGN_OR_RETURN(
      const TensorView* self,
      TensorOf(context, 0, "self", {DType::kFloat16, DType::kFloat32, DType::kFloat64}));
  const DType dtype = self->dtype == DType::kFloat16   ? DType::kComplex32
                      : self->dtype == DType::kFloat32 ? DType::kComplex64
                                                       : DType::kComplex128;
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout,
                        ViewAsComplexRule::Apply(LayoutOf(*self), KernelArgs(context)));
  return CopyReinterpreted(context, *self, dtype, layout);
}

// out[i] = fn(self[i]) in the type in which kernels compute on self's dtype.
template <class Fn>
absl::Status MapElements(KernelContext& context, Fn fn) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, TensorOf(context, 0, "self", kNumberTypes));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, self->dtype, *self));
  WithComputeType(self->dtype, [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> read(*self);
    const Writer<T> write(*out);
    for (StridedIterator<2> it(self->sizes, {self->strides, out->strides}); !it.done(); it.Next()) {
      write(it.offset(1), fn(read(it.offset(0))));
    }
  });
  return absl::OkStatus();
}

struct Negate {
  int64_t operator()(int64_t v) const { return static_cast<int64_t>(0 - static_cast<uint64_t>(v)); }
  double operator()(double v) const { return -v; }
  std::complex<double> operator()(std::complex<double> v) const { return -v; }
};
struct Conjugate {
  int64_t operator()(int64_t v) const { return v; }
  double operator()(double v) const { return v; }
  std::complex<double> operator()(std::complex<double> v) const { return std::conj(v); }
};

absl::Status Neg(KernelContext& context) { return MapElements(context, Negate()); }
absl::Status Conj(KernelContext& context) { return MapElements(context, Conjugate()); }

constexpr CopyFn kCopy = &CopyElements, kCopyReshaped = &CopyReshaped;

constexpr Kernel kKernels[] = {
#define BELAY_VIEW_KERNEL(op, name, run) {op, name, KernelEngine::kReference, run},
#include "runtime/kernels/call/view_kernels.inc"

#define BELAY_VIEW_KERNEL(op, name, run) {"aten." op, name, KernelEngine::kReference, run}
#define BELAY_VIEW_PAIR(op, copy, name, run) \
  BELAY_VIEW_KERNEL(op, name, run), BELAY_VIEW_KERNEL(copy, name, run)
    BELAY_VIEW_PAIR("_conj.default", "_conj_copy.default", "Conj", &Conj),
    BELAY_VIEW_PAIR("_neg_view.default", "_neg_view_copy.default", "Neg", &Neg),
    BELAY_VIEW_PAIR("view.dtype", "view_copy.dtype", "ViewDtype", &ViewDtype),
    BELAY_VIEW_PAIR("view_as_complex.default", "view_as_complex_copy.default", "ViewAsComplex",
                    &ViewAsComplex),
    BELAY_VIEW_PAIR("view_as_real.default", "view_as_real_copy.default", "ViewAsReal", &ViewAsReal),
};
#undef BELAY_VIEW_PAIR
#undef BELAY_VIEW_KERNEL

}  // namespace

absl::Span<const Kernel> ViewKernels() { return kKernels; }

}  // namespace belay
