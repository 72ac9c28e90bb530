// Copies between tensors of any layouts and dtypes: what data movement consists of.
#ifndef BELAY_RUNTIME_KERNELS_ELEMENTS_COPY_STRIDED_H_
#define BELAY_RUNTIME_KERNELS_ELEMENTS_COPY_STRIDED_H_

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// Like CopyElements (runtime/core/tensor_view.h), with the same results and errors: dimensions that
// lie together in both are joined, runs are moved whole, transposed planes go through registers
// tile by tile, and dtypes are converted a run at a time.
absl::Status CopyStrided(const TensorView& from, const TensorView& to);

// The same, which can't fail, of tensors of equal sizes whose dtypes are equal or both of kRunTypes
// (convert_run.h).
void CopyConvertible(const TensorView& from, const TensorView& to);

// The same with the source's dimensions in `mask` backwards. Preconditions: equal sizes and dtypes,
// of at most 8 bytes; the tensors do not overlap.
void CopyFlipped(const TensorView& from, uint32_t mask, const TensorView& to);

// Sets all elements to the one at `element`, which has the tensor's dtype.
void FillStrided(const TensorView& to, const void* element);

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_ELEMENTS_COPY_STRIDED_H_
