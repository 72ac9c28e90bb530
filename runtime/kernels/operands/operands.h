// Checks of operands before a kernel accesses elements.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_OPERANDS_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_OPERANDS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/core/checked_math.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/shape_rules/dims.h"

namespace belay {

// Dtypes that kernels can read element by element.
inline constexpr DTypeSet kNumberTypes = kRealTypes | kComplexTypes | kUnsignedWideTypes;

// kInvalidArgument unless the tensor's dtype is in kNumberTypes.
absl::Status ExpectNumbers(std::string_view name, const TensorView& tensor);

// Returns output `i`, resized to these sizes. kInvalidArgument if its dtype is not `dtype`.
absl::StatusOr<TensorView*> OutputOf(KernelContext& context, int i, DType dtype,
                                     absl::Span<const CheckedInt> dims);
absl::StatusOr<TensorView*> OutputOf(KernelContext& context, int i, DType dtype,
                                     const TensorView& sizes_of);

// Sets all elements to zero. Precondition: the tensor is not expanded (no zero strides).
void FillZero(const TensorView& tensor);

// Limit on the steps of a loop over broadcast operands whose result is smaller than the loop.
// Nothing else bounds such a loop, and a kernel cannot be interrupted.
inline constexpr int64_t kMostBroadcastSteps = int64_t{1} << 32;
// kResourceExhausted if a loop over these sizes has more than kMostBroadcastSteps steps.
absl::Status CheckBroadcastSteps(std::string_view op, absl::Span<const int64_t> sizes);

// Returns the scratch memory as an array of `count` elements. kInternal if it is too small. A
// `count` that overflows is also too large: sizes next to a size of 0 may have any magnitude.
template <class T>
absl::StatusOr<T*> ScratchArray(const KernelContext& context, CheckedInt count) {
  if (!count.ok() || count.value() < 0 ||
      static_cast<uint64_t>(count.value()) > context.scratch().size() / sizeof(T)) {
    return absl::InternalError("the kernel's working memory is smaller than the call needs");
  }
  return reinterpret_cast<T*>(context.scratch().data());
}

// Scratch bytes for `count` elements of T. UINT64_MAX, which exceeds every limit, on overflow.
template <class T>
uint64_t ScratchBytesOf(CheckedInt count) {
  const CheckedInt bytes = count * static_cast<int64_t>(sizeof(T));
  return bytes.ok() ? static_cast<uint64_t>(bytes.value()) : UINT64_MAX;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_OPERANDS_H_
