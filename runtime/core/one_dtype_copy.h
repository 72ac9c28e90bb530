// Copies elements without conversion. Binaries that never convert link this file instead of the
// conversion table, which is larger than the rest of the runtime.
#ifndef BELAY_RUNTIME_CORE_ONE_DTYPE_COPY_H_
#define BELAY_RUNTIME_CORE_ONE_DTYPE_COPY_H_

#include "absl/status/status.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// CopyElements for tensors of the same dtype. kInvalidArgument: sizes or dtypes differ.
absl::Status CopyElementsOfOneDType(const TensorView& from, const TensorView& to);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ONE_DTYPE_COPY_H_
