// Copies elements as they are. Who never converts links this and not the table of all conversions,
// which is larger than the rest of the runtime.
#ifndef BELAY_RUNTIME_CORE_ONE_DTYPE_COPY_H_
#define BELAY_RUNTIME_CORE_ONE_DTYPE_COPY_H_

#include "absl/status/status.h"
#include "runtime/core/tensor_view.h"

namespace belay {

// As CopyElements, of tensors of one dtype. kInvalidArgument: sizes or dtypes differ.
absl::Status CopyElementsOfOneDType(const TensorView& from, const TensorView& to);

}  // namespace belay

#endif  // BELAY_RUNTIME_CORE_ONE_DTYPE_COPY_H_
