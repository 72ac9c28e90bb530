// GEMMs of linear layers, divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_
#define BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// Runs a GEMM with a row stride of `g.k`. Needs the working memory that RowProductScratch returns.
template <class T>
absl::Status RunRowProduct(const KernelContext& context, const ProductArgs<T>& g) {
  const auto tile = static_cast<int64_t>(TileSize<T>(g.k, g.k));
  ABSL_ASSIGN_OR_RETURN(T * tiles,
                        ScratchArray<T>(context, CheckedInt(tile) * context.num_threads()));
  RunGemm(context, GemmSizeOf(g, kTileRows, kPanelColumns, kGemmWork<T>),
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
