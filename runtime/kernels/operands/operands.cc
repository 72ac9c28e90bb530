#include "runtime/kernels/operands/operands.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/type_promotion.h"

namespace belay {

absl::Status ExpectNumbers(std::string_view name, const TensorView& tensor) {
  if (kNumberTypes.contains(tensor.dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, ": expected one of ", FormatDTypeSet(kNumberTypes), ", got ", DTypeName(tensor.dtype)));
}

absl::Status CheckBroadcastSteps(std::string_view op, absl::Span<const int64_t> sizes) {
  CheckedInt steps = 1;
  for (const int64_t size : sizes) steps = steps * size;
  if (steps.ok() && steps.value() <= kMostBroadcastSteps) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(op, ": the operands broadcast to ",
                                                   FormatSizes(sizes), ", which is more than ",
                                                   kMostBroadcastSteps, " elements"));
}

absl::StatusOr<TensorView*> OutputOf(KernelContext& context, int i, DType dtype,
                                     absl::Span<const CheckedInt> dims) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* planned, context.PlannedOutput(i));
  if (planned->dtype != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("output ", i, ": expected ", DTypeName(dtype),
                                                   ", got ", DTypeName(planned->dtype)));
  }
  ABSL_ASSIGN_OR_RETURN(const Sizes sizes, ToSizes(dims));
  return context.Output(i, sizes);
}

absl::StatusOr<TensorView*> OutputOf(KernelContext& context, int i, DType dtype,
                                     const TensorView& sizes_of) {
  return OutputOf(context, i, dtype, ToDims(sizes_of.sizes));
}

void FillZero(const TensorView& tensor) {
  const size_t size = DTypeSize(tensor.dtype);
  std::byte* const data = static_cast<std::byte*>(tensor.data);
  for (StridedIterator<1> it(tensor.sizes, {tensor.strides}); !it.done(); it.Next()) {
    std::fill_n(data + it.offset(0) * static_cast<int64_t>(size), size, std::byte{0});
  }
}

}  // namespace belay
