// Divides work on image rows among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_ROWS_H_
#define BELAY_BACKENDS_CPU_KERNELS_ROWS_H_

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay::cpu {

// Calls body(first, last) for pieces of [0, rows), rows > 0. `work` is the total cost in
// multiply-adds. Stops early if the budget is exhausted: a window may be as large as its image, and
// then work grows quadratically with the input.
inline void RunRows(const KernelContext& context, int64_t rows, double work,
                    absl::FunctionRef<void(int64_t, int64_t)> body) {
  ABSL_DCHECK(rows > 0);
  // A piece takes few microseconds. Its rows are even, which suits depthwise convolutions.
  constexpr double kPiece = 1 << 17, kMost = 1 << 30;
  const double row_work = work / static_cast<double>(rows);
  const auto step = static_cast<int64_t>(std::clamp(kPiece / (2 * row_work + 1), 1.0, kMost)) * 2;
  const auto units = static_cast<int64_t>(std::min(row_work, kMost)) + 1;
  RunRanges(context, rows, 1, work, [&](int, int64_t first, int64_t last) {
    Budget::Pace pace;
    while (first < last) {
      const int64_t end = first + std::min(step, last - first);
      if (pace.Stop((end - first) * units)) return;
      body(first, end);
      first = end;
    }
  });
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_ROWS_H_
