// Kernels of view operators, by what moves the elements: one text for every engine.
#ifndef BELAY_RUNTIME_KERNELS_CALL_VIEW_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_CALL_VIEW_KERNELS_H_

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_rules/slice.h"
#include "runtime/kernel/shape_rules/view.h"
#include "runtime/kernels/call/strided_view.h"

namespace belay {

template <class Rule, CopyFn kCopy>
absl::Status CopyView(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(Rule::kArguments, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView view, ApplyRule<Rule>(*self, context));
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, view.sizes));
  return kCopy(view, *out);
}

// view, reshape: elements may have to move when this tensor lies otherwise than the compiler's.
template <CopyFn kCopyReshaped>
absl::Status Reshape(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const StridedDims<CheckedInt> layout,
                        ReshapeRule::Apply(LayoutOf(*self), KernelArgs(context)));
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(layout.sizes));
  if (NumElements(sizes) != self->numel()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot view ", self->ToString(), " as ", FormatSizes(sizes)));
  }
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  return kCopyReshaped(*self, *out);
}

template <class Rule, CopyFn kCopy>
absl::Status CopyPieces(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(Rule::kArguments, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  const KernelArgs args(context);
  const StridedDims<CheckedInt> in = LayoutOf(*self);
  ABSL_ASSIGN_OR_RETURN(const int count, Rule::Count(in, args));
  ABSL_ASSIGN_OR_RETURN(const int planned, context.OutputListSize(0));
  if (count != planned) {
    return absl::InvalidArgumentError(
        absl::StrCat("the call makes ", count, " pieces, the output list has ", planned));
  }
  return Rule::ForEach(in, args, [&](int k, const StridedDims<CheckedInt>& piece) -> absl::Status {
    ABSL_ASSIGN_OR_RETURN(const TensorView view, ViewOf(*self, piece));
    ABSL_ASSIGN_OR_RETURN(TensorView * out, context.OutputListElement(0, k, view.sizes));
    return kCopy(view, *out);
  });
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_VIEW_KERNELS_H_
