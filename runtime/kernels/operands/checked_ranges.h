// Division of a kernel's work among threads that may fail.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_CHECKED_RANGES_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_CHECKED_RANGES_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/operands/strided_view.h"

namespace belay {

// RunRanges for body(first, last) that may fail. Then returns the error of body(0, count), which is the
// first one in order, for any number of threads.
inline absl::Status RunCheckedRanges(const KernelContext& context, int64_t count, int64_t step,
                                     double work,
                                     absl::FunctionRef<absl::Status(int64_t, int64_t)> body) {
  std::atomic<bool> failed = false;
  RunRanges(context, count, step, work, [&](int, int64_t first, int64_t last) {
    if (!body(first, last).ok()) failed = true;
  });
  return failed ? body(0, count) : absl::OkStatus();
}

// Returns indices [first, last) of dimension d.
inline TensorView Narrowed(TensorView tensor, int d, int64_t first, int64_t last) {
  tensor.data = PartAddress(tensor, first * tensor.strides[d]);
  tensor.sizes[d] = last - first;
  return tensor;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_CHECKED_RANGES_H_
