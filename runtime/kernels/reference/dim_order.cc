// dim_order_ops. The output's dim order is part of its plan; the argument has no further
// information.

#include "absl/status/status.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/movement.h"
#include "runtime/kernels/operands/join_kernels.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// The elements are unspecified; zeros make results reproducible.
absl::Status EmptyInOrder(KernelContext& context, const ResizeCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(call.size));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  FillZero(*out);
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&CopyAll<&CopyElements>>("dim_order_ops._clone_dim_order.default",
                                       "self non_blocking dim_order", "Copy", kReference),
    KernelRow<&EmptyInOrder>("dim_order_ops._empty_dim_order.default",
                             "size dtype layout device pin_memory dim_order", "Empty", kReference),
    KernelRow<&CopyAll<&CopyElements>>("dim_order_ops._to_dim_order_copy.default",
                                       "self dtype layout device pin_memory non_blocking dim_order",
                                       "Copy", kReference),
};

}  // namespace

absl::Span<const Kernel> DimOrderKernels() { return kKernels; }

}  // namespace belay
