// What Highway kernels ask of a tensor's layout.
#ifndef BELAY_RUNTIME_KERNELS_DENSE_H_
#define BELAY_RUNTIME_KERNELS_DENSE_H_

#include "runtime/kernel/kernel.h"

namespace belay {

// Argument i is a float32 tensor in row-major order. With none_counts, also when it is none.
inline bool IsRowMajorF32(const KernelContext& context, int i, bool none_counts = false) {
  const EValue& value = context.argument(i);
  if (value.is_none()) return none_counts;
  const TensorView* t = value.get_if<TensorView>();
  return t != nullptr && t->dtype == DType::kFloat32 && t->is_contiguous();
}

// Output i likewise.
inline bool IsRowMajorF32Output(const KernelContext& context, int i) {
  const absl::StatusOr<const TensorView*> t = context.PlannedOutput(i);
  return t.ok() && (*t)->dtype == DType::kFloat32 && (*t)->is_contiguous();
}

// Row-major now, not only when the program was loaded.
inline absl::Status CheckRowMajor(const TensorView& t) {
  if (t.is_contiguous()) return absl::OkStatus();
  return absl::InternalError("the tensor's layout changed after the kernel was chosen");
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_DENSE_H_
