// What kernels check of their operands before they touch an element.
#ifndef BELAY_RUNTIME_KERNELS_CALL_OPERANDS_H_
#define BELAY_RUNTIME_KERNELS_CALL_OPERANDS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/shape_rules/dims.h"

namespace belay {

// Everything that a kernel can read element by element.
inline constexpr DTypeSet kNumberTypes = kRealTypes | kComplexTypes | kUnsignedWideTypes;

// kInvalidArgument unless the tensor is of one of them.
absl::Status ExpectNumbers(std::string_view name, const TensorView& tensor);

// Output `i` of this dtype and these sizes.
absl::StatusOr<TensorView*> OutputOf(KernelContext& context, int i, DType dtype,
                                     absl::Span<const CheckedInt> dims);
absl::StatusOr<TensorView*> OutputOf(KernelContext& context, int i, DType dtype,
                                     const TensorView& sizes_of);

// Sets all elements to zero. Precondition: the tensor is no expanded one.
void FillZero(const TensorView& tensor);

// What broadcast operands may make of a loop whose result is smaller than the loop: nothing else
// bounds it, and a kernel is not interrupted.
inline constexpr int64_t kMostBroadcastSteps = int64_t{1} << 32;
// kResourceExhausted when a loop over these sizes has more steps.
absl::Status CheckBroadcastSteps(std::string_view op, absl::Span<const int64_t> sizes);

// Scratch memory as an array of `count` elements; kInternal when it is too small, as it is for a
// count that overflows: sizes may be of any magnitude beside one that is 0.
template <class T>
absl::StatusOr<T*> ScratchArray(const KernelContext& context, CheckedInt count) {
  if (!count.ok() || count.value() < 0 ||
      static_cast<uint64_t>(count.value()) > context.scratch().size() / sizeof(T)) {
    return absl::InternalError("the kernel's working memory is smaller than the call needs");
  }
  return reinterpret_cast<T*>(context.scratch().data());
}

// What a kernel says that it needs for `count` elements of T: above every limit when that overflows.
template <class T>
uint64_t ScratchBytesOf(CheckedInt count) {
  const CheckedInt bytes = count * static_cast<int64_t>(sizeof(T));
  return bytes.ok() ? static_cast<uint64_t>(bytes.value()) : UINT64_MAX;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_OPERANDS_H_
