// Padded copies: reflection, replication, and constant padding.
#ifndef BELAY_RUNTIME_KERNELS_MOVEMENT_PADDING_H_
#define BELAY_RUNTIME_KERNELS_MOVEMENT_PADDING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

enum class PadFill : uint8_t { kReflect, kReplicate, kConstant };

// to[i, …] = from[i - before[0], …]. Positions outside of `from` are reflected, replaced by the
// nearest position, or set to the element at `constant`. Moves runs that are contiguous in both
// tensors by memcpy, in any layout, on several threads.
//
// Preconditions: equal ranks and dtypes, of at most 8 bytes; neither is empty; before[d] is between
// -from.sizes[d] and to.sizes[d] where the shape rules (shape_rules/pad.h) demand it: reflected
// positions are inside of `from`.
void CopyPadded(const KernelContext& context, const TensorView& from, const TensorView& to,
                absl::Span<const int64_t> before, PadFill fill, const void* constant);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_MOVEMENT_PADDING_H_
