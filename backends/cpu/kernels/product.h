// Divides a GEMM among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_
#define BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// Cost of an int8 multiply-add, and of one of T, relative to float32.
inline constexpr double kQuantizedWork = 0.25;
template <class T>
inline constexpr double kProductWork = static_cast<double>(sizeof(T)) / sizeof(float);

// Rows and columns of a GEMM, the granularity of their ranges, and its cost in multiply-adds.
struct ProductSize {
  int64_t rows, row_step, columns, column_step;
  double work;
};

// Each part reads the whole undivided side. With at least this many columns per row, weights should
// be read only once.
inline constexpr int64_t kManyColumns = 8;

// Divides a GEMM by rows, or by columns if there are too few rows or many more columns than rows.
// Calls body(part, first_row, last_row, first_column, last_column) for each part. Parts have
// numbers below context.num_threads() and working memory of their own.
inline void RunProduct(const KernelContext& context, const ProductSize& size,
                       absl::FunctionRef<void(int, size_t, size_t, size_t, size_t)> body) {
  const auto rows = static_cast<size_t>(size.rows), columns = static_cast<size_t>(size.columns);
  if (size.rows >= 2 * size.row_step * context.num_threads() &&
      size.columns < kManyColumns * size.rows) {
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
// multiply-add relative to float32.
template <class Args>
ProductSize SizeOf(const Args& g, size_t row_step, size_t column_step, double scale = 1) {
  return {static_cast<int64_t>(g.m), static_cast<int64_t>(row_step), static_cast<int64_t>(g.n),
          static_cast<int64_t>(column_step),
          scale * static_cast<double>(g.m) * static_cast<double>(g.n) *
              static_cast<double>(g.k * g.taps)};
}

// Runs a GEMM with a row stride of `g.k`. Needs the working memory that RowProductScratch returns.
template <class T>
absl::Status RunRowProduct(const KernelContext& context, const ProductArgs<T>& g) {
  const auto tile = static_cast<int64_t>(TileSize<T>(g.k, g.k));
  ABSL_ASSIGN_OR_RETURN(T * tiles,
                        ScratchArray<T>(context, CheckedInt(tile) * context.num_threads()));
  RunProduct(context, SizeOf(g, kTileRows, kPanelColumns, kProductWork<T>),
             [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
               ProductArgs<T> mine = g;
               if (tile != 0) mine.tile = tiles + part * tile;
               PackedGemmRange(mine, row, end_row, column, end_column);
             });
  return absl::OkStatus();
}
template <class T>
uint64_t RowProductScratch(const KernelContext& context, int64_t k) {
  const auto row = static_cast<size_t>(k);
  return ScratchBytesOf<T>(CheckedInt(static_cast<int64_t>(TileSize<T>(row, row))) *
                           context.num_threads());
}

// Arguments of a linear layer whose result is not empty.
template <class T>
ProductArgs<T> LinearProduct(const TensorView& input, const TensorView& weight,
                             const EpilogueOn<T>& epilogue, const TensorView& out) {
  ProductArgs<T> g;
  g.epilogue = epilogue;
  g.n = static_cast<size_t>(out.sizes[out.rank() - 1]);
  g.k = static_cast<size_t>(input.sizes[input.rank() - 1]);
  g.m = static_cast<size_t>(out.numel()) / g.n;
  g.a = input.as<const T>();
  g.lda = g.k;
  g.b = weight.as<const T>();
  g.c = out.as<T>();
  g.ldc = g.n;
  return g;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_
