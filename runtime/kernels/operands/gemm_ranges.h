// Division of a GEMM among threads.
#ifndef BELAY_RUNTIME_KERNELS_OPERANDS_GEMM_RANGES_H_
#define BELAY_RUNTIME_KERNELS_OPERANDS_GEMM_RANGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/operands/ranges.h"

namespace belay {

// Cost of an int8 multiply-add, and of one of T, relative to float32.
inline constexpr double kQuantizedWork = 0.25;
template <class T>
inline constexpr double kGemmWork = static_cast<double>(sizeof(T)) / sizeof(float);

// Rows and columns of a GEMM, the granularity of their ranges, and its cost in multiply-adds.
struct GemmSize {
  int64_t rows, row_step, columns, column_step;
  double work;
  // Whether each part packs the columns that it reads.
  bool packs = false;
};

// Each part reads the whole undivided side. With at least this many columns per row, weights should
// be read only once.
inline constexpr int64_t kManyColumns = 8;

// Whether RunGemm divides the rows: there are enough, and reading all columns once per part costs
// little.
inline bool DividesRows(const KernelContext& context, const GemmSize& size) {
  const int64_t parts = 2 * int64_t{context.num_threads()};
  return size.packs ? size.columns < size.column_step * parts
                    : size.rows >= size.row_step * parts && size.columns < kManyColumns * size.rows;
}

// Divides a GEMM by rows or by columns. Calls body(part, first_row, last_row, first_column,
// last_column) for each part. Parts have numbers below context.num_threads() and working memory of
// their own.
inline void RunGemm(const KernelContext& context, const GemmSize& size,
                    absl::FunctionRef<void(int, size_t, size_t, size_t, size_t)> body) {
  const auto rows = static_cast<size_t>(size.rows), columns = static_cast<size_t>(size.columns);
  if (DividesRows(context, size)) {
    RunRanges(context, size.rows, size.row_step, size.work,
              [&](int part, int64_t first, int64_t last) {
                body(part, static_cast<size_t>(first), static_cast<size_t>(last), 0, columns);
              });
  } else {
    RunRanges(context, size.columns, size.column_step, size.work,
              [&](int part, int64_t first, int64_t last) {
                body(part, 0, rows, static_cast<size_t>(first), static_cast<size_t>(last));
              });
  }
}

// Size for the arguments of packed_gemm.h and quantized_gemm.h. `scale` is the cost of a
// multiply-add relative to float32. With few rows, the cost is that of reading B.
template <class Args>
GemmSize GemmSizeOf(const Args& g, size_t row_step, size_t column_step, double scale = 1) {
  return {static_cast<int64_t>(g.m), static_cast<int64_t>(row_step), static_cast<int64_t>(g.n),
          static_cast<int64_t>(column_step),
          scale * std::max(static_cast<double>(g.m), kElementWork) * static_cast<double>(g.n) *
              static_cast<double>(g.k * g.taps)};
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_OPERANDS_GEMM_RANGES_H_
