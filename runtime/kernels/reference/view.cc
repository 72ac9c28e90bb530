// View operators. A view and its copy operator share one kernel, because a kernel's output has its
// own memory.

#include <complex>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/slice.h"
#include "runtime/kernel_interface/shape_rules/view.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/strided_view.h"
#include "runtime/kernels/operands/view_kernels.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Copies the elements that `layout`, in elements of `dtype`, selects from the bytes of `self`.
absl::Status CopyReinterpreted(KernelContext& context, const TensorView& self, DType dtype,
                               const StridedDims<CheckedInt>& layout) {
  // Viewed as a row of elements of the new dtype, a tensor ends at its last old element.
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

// view.dtype, view_as_real, view_as_complex.
template <template <class> class Call>
absl::Status Reinterpret(KernelContext& context, const Call<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout, call.Apply(LayoutOf(*call.self)));
  return CopyReinterpreted(context, *call.self, call.dtype, layout);
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

// out[i] = Fn(self[i]) in the compute type of self's dtype.
template <class Fn>
absl::Status MapElements(KernelContext& context,
                         const ViewCall<KernelArguments, IdentityRule>& call) {
  const TensorView* const self = call.self;
  ABSL_RETURN_IF_ERROR(ExpectNumbers("self", *self));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, self->dtype, *self));
  WithComputeType(self->dtype, [&](auto zero) {
    using T = decltype(zero);
    const Reader<T> read(*self);
    const Writer<T> write(*out);
    for (StridedIterator<2> it(self->sizes, {self->strides, out->strides}); !it.done(); it.Next()) {
      write(it.offset(1), Fn()(read(it.offset(0))));
    }
  });
  return absl::OkStatus();
}

constexpr CopyFn kCopy = &CopyElements, kCopyReshaped = &CopyReshaped;

constexpr Kernel kKernels[] = {
#define BELAY_VIEW_KERNEL(op, signature, name, run) \
  KernelRow<run>(op, signature, name, KernelEngine::kReference),
#include "runtime/kernels/operands/view_kernels.inc"

#define BELAY_VIEW_PAIR(op, copy, signature, name, run)                  \
  KernelRow<run>("aten." op, signature, name, KernelEngine::kReference), \
      KernelRow<run>("aten." copy, signature, name, KernelEngine::kReference)
    BELAY_VIEW_PAIR("_conj.default", "_conj_copy.default", "self", "Conj", &MapElements<Conjugate>),
    BELAY_VIEW_PAIR("_neg_view.default", "_neg_view_copy.default", "self", "Neg",
                    &MapElements<Negate>),
    BELAY_VIEW_PAIR("view.dtype", "view_copy.dtype", "self dtype", "ViewDtype",
                    &Reinterpret<ViewDtypeCall>),
    BELAY_VIEW_PAIR("view_as_complex.default", "view_as_complex_copy.default", "self",
                    "ViewAsComplex", &Reinterpret<ViewAsComplexCall>),
    BELAY_VIEW_PAIR("view_as_real.default", "view_as_real_copy.default", "self", "ViewAsReal",
                    &Reinterpret<ViewAsRealCall>),
#undef BELAY_VIEW_PAIR
};

}  // namespace

absl::Span<const Kernel> ViewKernels() { return kKernels; }

}  // namespace belay
