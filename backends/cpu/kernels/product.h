// A product divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_
#define BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_

#include <cstdint>

#include "backends/cpu/kernels/ranges.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// PackedGemm by rows, or by columns where there are too few rows to go round. body(part, args, run)
// gives a part, which has a number below context.num_threads(), working memory of its own and calls
// run(args).
template <class Body>
void RunProduct(const KernelContext& context, const PackedGemmArgs& g, const Body& body) {
  const auto m = static_cast<int64_t>(g.m), n = static_cast<int64_t>(g.n);
  const double work =
      static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k * g.taps);
  const auto run = [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
    body(part, g, [&](const PackedGemmArgs& mine) {
      PackedGemmRange(mine, row, end_row, column, end_column);
    });
  };
  constexpr int64_t kRows = kTileRows;
  if (m >= 2 * kRows * context.num_threads()) {
    RunRanges(context, m, kRows, work, [&](int part, int64_t first, int64_t last) {
      run(part, static_cast<size_t>(first), static_cast<size_t>(last), 0, g.n);
    });
  } else {
    RunRanges(context, n, kPanelColumns, work, [&](int part, int64_t first, int64_t last) {
      run(part, 0, g.m, static_cast<size_t>(first), static_cast<size_t>(last));
    });
  }
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_
