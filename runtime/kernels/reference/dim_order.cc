// dim_order_ops. The output's dim order is part of its plan; the argument tells nothing more.

#include "absl/status/status.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

template <int kArguments>
absl::Status CopyInOrder(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(kArguments, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, self->sizes));
  return CopyElements(*self, *out);
}

// Nobody may rely on the elements; zeros keep runs equal.
absl::Status EmptyInOrder(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(6, 1));
  ABSL_ASSIGN_OR_RETURN(const Sizes requested, context.IntList(0));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(ToDims(requested)));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  FillZero(*out);
  return absl::OkStatus();
}

constexpr Kernel kKernels[] = {
    {"dim_order_ops._clone_dim_order.default", "Copy", KernelEngine::kReference, &CopyInOrder<3>},
    {"dim_order_ops._empty_dim_order.default", "Empty", KernelEngine::kReference, &EmptyInOrder},
    {"dim_order_ops._to_dim_order_copy.default", "Copy", KernelEngine::kReference, &CopyInOrder<7>},
};

}  // namespace

absl::Span<const Kernel> DimOrderKernels() { return kKernels; }

}  // namespace belay
