// Copies between tensors of any layout and dtype, the primitive of data movement.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENT_COPY_COPY_STRIDED_H_
#define BELAY_RUNTIME_KERNELS_ELEMENT_COPY_COPY_STRIDED_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// CopyElements (runtime/core/tensor_view.h) with the same results and errors, but vectorized.
// Merges dimensions that are contiguous in both tensors, moves whole runs, transposes planes tile
// by tile in registers, and converts dtypes a run at a time.
absl::Status CopyStrided(const TensorView& from, const TensorView& to);

// Same as CopyStrided, but cannot fail. Precondition: equal sizes; equal dtypes, or both in
// kRunTypes (convert_run.h).
void CopyConvertible(const TensorView& from, const TensorView& to);

// Copies with the source's dimensions in `mask` reversed. Preconditions: equal sizes; equal dtypes
// of at most 8 bytes; the tensors do not overlap.
void CopyFlipped(const TensorView& from, uint32_t mask, const TensorView& to);

// Sets all elements to the one at `element`, which has the tensor's dtype.
void FillStrided(const TensorView& to, const void* element);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENT_COPY_COPY_STRIDED_H_
