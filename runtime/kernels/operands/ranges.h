// Division of a kernel's work among threads.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_RANGES_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_RANGES_H_

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/kernel_interface/kernel.h"

namespace belay {

// Multiply-adds per part below which another thread does not pay off (about 5 µs, its start-up
// time).
inline constexpr double kLeastWork = 250'000;
// Cost of reading and writing an element, in multiply-adds.
inline constexpr double kElementWork = 8;

// Divides [0, count) into at most num_threads() ranges of nearly equal size and calls body(part,
// first, last) for each. Inner bounds are multiples of `step`. `work` is the total cost in
// multiply-adds. With less than kLeastWork per range, fewer ranges are used.
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

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_RANGES_H_
