// constant_pad_nd, parameterized by the fill and copy functions.
#ifndef BELAY_RUNTIME_KERNELS_CALL_PAD_KERNELS_H_
#define BELAY_RUNTIME_KERNELS_CALL_PAD_KERNELS_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/kernel_arguments.h"
#include "runtime/kernel/shape_rules/pad.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/scalar_element.h"
#include "runtime/kernels/call/strided_view.h"

namespace belay {

template <CopyFn kCopy, void (*kFill)(const TensorView&, const ScalarElement&)>
absl::Status ConstantPad(KernelContext& context, const ConstantPadCall<KernelArguments>& call) {
  const TensorView in = *call.self;
  const Padding<CheckedInt>& padding = call.padding;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> dims, call.Shape());
  ABSL_ASSIGN_OR_RETURN(TensorView * out, OutputOf(context, 0, in.dtype, dims));
  ABSL_ASSIGN_OR_RETURN(const ScalarElement element, ScalarElement::Create(call.value, in.dtype));
  kFill(*out, element);
  // Kept part of the input, and its layout in the output.
  StridedDims<CheckedInt> from = LayoutOf(in), to = LayoutOf(*out);
  for (int d = 0; d < in.rank(); ++d) {
    const int64_t before = padding.before[d].value(), after = padding.after[d].value();
    const CheckedInt kept =
        CheckedInt(in.sizes[d]) + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    from.offset = from.offset - CheckedInt(std::min<int64_t>(before, 0)) * from.strides[d];
    to.offset = to.offset + CheckedInt(std::max<int64_t>(before, 0)) * to.strides[d];
    from.sizes[d] = kept;
    to.sizes[d] = kept;
  }
  ABSL_ASSIGN_OR_RETURN(const TensorView source, ViewOf(in, from));
  ABSL_ASSIGN_OR_RETURN(const TensorView target, ViewOf(*out, to));
  return kCopy(source, target);
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_PAD_KERNELS_H_
