// Operators that replace a part of a tensor, parameterized by the copy function.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_VIEW_SCATTER_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_VIEW_SCATTER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/slice.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// Returns the part of `out` that src replaces. kInvalidArgument if its shape is not that of src.
template <template <class> class Rule>
absl::StatusOr<TensorView> ReplacedPart(const TensorView& out,
                                        const ViewCall<KernelArguments, Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView part, ApplyRule(out, call.rule));
  if (part.sizes == call.src->sizes) return part;
  return absl::InvalidArgumentError(absl::StrCat("src of shape ", FormatSizes(call.src->sizes),
                                                 " does not replace a part of shape ",
                                                 FormatSizes(part.sizes)));
}

// select_scatter, slice_scatter, diagonal_scatter: copies self and replaces the part that the rule
// selects by src.
template <template <class> class Rule, CopyFn kCopy>
absl::Status ViewScatter(KernelContext& context, const ViewCall<KernelArguments, Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, call.self->sizes));
  ABSL_ASSIGN_OR_RETURN(const TensorView part, ReplacedPart(*out, call));
  ABSL_RETURN_IF_ERROR(kCopy(context, *call.self, *out));
  return kCopy(context, *call.src, part);
}

// belay.select_scatter_, belay.slice_scatter_: the same in place. The result is self.
template <template <class> class Rule, CopyFn kCopy>
absl::Status ViewScatterInPlace(KernelContext& context,
                                const ViewCall<KernelArguments, Rule>& call) {
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, call.self->sizes));
  if (out->data != call.self->data) {
    return absl::InvalidArgumentError("expected self as the result, got another tensor");
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView part, ReplacedPart(*out, call));
  return kCopy(context, *call.src, part);
}

// The arguments are strides and an offset in self's memory: the output must have the same layout.
template <CopyFn kCopy>
absl::Status AsStridedScatter(KernelContext& context,
                              const ViewCall<KernelArguments, AsStridedRule>& call) {
  const TensorView* const self = call.self;
  const Strides expected = self->strides;
  const bool dense = IsDense(self->sizes, self->strides);
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, self->sizes));
  if (!dense || !(out->strides == expected)) {
    return absl::UnimplementedError(
        absl::StrCat("as_strided_scatter: self ", self->ToString(),
                     " and the output must be dense with equal strides, got ", out->ToString()));
  }
  return ViewScatter<AsStridedRule, kCopy>(context, call);
}

// belay.set_row_(self!, row, index, count): writes row `index` of self, which is resized to `count`
// rows. Loops over rows write their results with it. All calls of one loop have the same count.
struct SetRowCall {
  const TensorView* row = nullptr;
  int64_t index = 0, count = 0;

  static absl::StatusOr<SetRowCall> Read(const KernelArguments& arguments) {
    SetRowCall call;
    ABSL_ASSIGN_OR_RETURN(call.row, arguments.Tensor("row"));
    ABSL_ASSIGN_OR_RETURN(call.index, arguments.StaticInt("index"));
    ABSL_ASSIGN_OR_RETURN(call.count, arguments.StaticInt("count"));
    if (call.index >= 0 && call.index < call.count) return call;
    return absl::InvalidArgumentError(
        absl::StrCat("index: expected a row below ", call.count, ", got ", call.index));
  }
};

template <CopyFn kCopy>
absl::Status SetRow(KernelContext& context, const SetRowCall& call) {
  const TensorView* const row = call.row;
  if (row->rank() >= kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("row: expected a rank below ", kMaxRank, ", got ", row->rank()));
  }
  Sizes sizes = {call.count};
  for (int64_t size : row->sizes) sizes.push_back(size);
  ABSL_ASSIGN_OR_RETURN(TensorView * out, context.Output(0, sizes));
  if (out->dtype != row->dtype) {
    return absl::InvalidArgumentError(absl::StrCat("row: expected dtype ", DTypeName(out->dtype),
                                                   ", got ", DTypeName(row->dtype)));
  }
  TensorView place = *row;
  place.strides = Strides(absl::MakeConstSpan(out->strides.data() + 1, row->rank()));
  place.data = PartAddress(*out, call.index * out->strides[0]);
  return kCopy(context, *row, place);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_VIEW_SCATTER_H_
