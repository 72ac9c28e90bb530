// Kernels of view operators, shared by all engines and parameterized by the copy function.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_VIEW_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_VIEW_KERNELS_H_

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/slice.h"
#include "runtime/kernel_interface/shape_rules/view.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

template <template <class> class Rule, CopyFn kCopy>
absl::Status CopyView(KernelContext& context, const ViewCall<KernelArguments, Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView view, ApplyRule(*call.self, call.rule));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, view.sizes));
  return kCopy(context, view, *out);
}

// view, reshape. Elements may have to move if the tensor's layout differs from the planned one.
template <CopyFn kCopyReshaped>
absl::Status Reshape(KernelContext& context, const ReshapeCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  if (NumElements(sizes) != call.self->numel()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot view ", call.self->ToString(), " as ", FormatSizes(sizes)));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  return kCopyReshaped(context, *call.self, *out);
}

template <template <class> class Rule, CopyFn kCopy>
absl::Status CopyPieces(KernelContext& context, const ViewCall<KernelArguments, Rule>& call) {
  const StridedDims<CheckedInt> in = LayoutOf(*call.self);
  ABSL_ASSIGN_OR_RETURN(const int count, call.rule.Count(in));
  ABSL_ASSIGN_OR_RETURN(const int planned, context.OutputListSize(0));
  if (count != planned) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected an output list of ", count, " elements, got ", planned));
  }
  return call.rule.ForEach(in, [&](int k, const StridedDims<CheckedInt>& piece) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const TensorView view, ViewOf(*call.self, piece));
    ABSL_ASSIGN_OR_RETURN(TensorView * out, context.OutputListElement(0, k, view.sizes));
    return kCopy(context, view, *out);
  });
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_VIEW_KERNELS_H_
