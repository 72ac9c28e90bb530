// A product divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_
#define BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/call/ranges.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// What a multiply-add of bytes takes of one of floats, and one of T.
inline constexpr double kQuantizedWork = 0.25;
template <class T>
inline constexpr double kProductWork = static_cast<double>(sizeof(T)) / sizeof(float);

// A product's rows and columns, the steps that ranges of them begin at, and its multiply-adds, or
// what takes as long.
struct ProductSize {
  int64_t rows, row_step, columns, column_step;
  double work;
};

// Each part reads all of the side that is not divided: from so many columns a row on, weights are
// what should be read once.
inline constexpr int64_t kManyColumns = 8;

// Divides a product by rows, or by columns where there are too few rows to go round or many more
// columns, and calls body(part, first_row, last_row, first_column, last_column) for each part, which
// has a number below context.num_threads() and working memory of its own.
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

// Of the arguments of packed_gemm.h and quantized_gemm.h; `scale` is what a multiply-add takes of a
// float's.
template <class Args>
ProductSize SizeOf(const Args& g, size_t row_step, size_t column_step, double scale = 1) {
  return {static_cast<int64_t>(g.m), static_cast<int64_t>(row_step), static_cast<int64_t>(g.n),
          static_cast<int64_t>(column_step),
          scale * static_cast<double>(g.m) * static_cast<double>(g.n) *
              static_cast<double>(g.k * g.taps)};
}

// The product of rows that are `g.k` apart. Needs the working memory that RowProductScratch says.
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

// Of a linear layer, whose result has elements.
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
