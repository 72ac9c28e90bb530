// How the kernels divide their work among threads.
#ifndef BELAY_RUNTIME_KERNELS_CALL_RANGES_H_
#define BELAY_RUNTIME_KERNELS_CALL_RANGES_H_

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/kernel/kernel.h"

namespace belay {

// Below so many multiply-adds a call is done before another thread has begun (about 5 µs).
inline constexpr double kLeastWork = 250'000;
// What reading and writing an element takes, in multiply-adds.
inline constexpr double kElementWork = 8;

// Divides [0, count) into at most as many ranges as there are threads, whose bounds are multiples of
// `step`, as even as can be, and calls body(part, first, last) for each. `work`: multiply-adds, or
// what takes as long, in all; with less than kLeastWork a range it makes fewer.
inline void RunRanges(const KernelContext& context, int64_t count, int64_t step, double work,
                      absl::FunctionRef<void(int, int64_t, int64_t)> body) {
  const int64_t steps = (count + step - 1) / step;
  const auto worth = static_cast<int64_t>(std::min(work / kLeastWork, 256.0)) + 1;
  const int64_t parts = std::min({steps, worth, int64_t{context.num_threads()}});
  if (parts <= 1) return body(0, 0, count);
  context.RunParts(static_cast<int>(parts), [&](int part) {
    const int64_t first = steps * part / parts * step;
    const int64_t last = std::min(count, steps * (part + 1) / parts * step);
    body(part, first, last);
  });
}

// The offset, in elements, of the element with this row-major index.
inline int64_t OffsetAt(int64_t index, const Sizes& sizes, const Strides& strides) {
  int64_t offset = 0;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    offset += index % sizes[d] * strides[d];
    index /= sizes[d];
  }
  return offset;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_CALL_RANGES_H_
