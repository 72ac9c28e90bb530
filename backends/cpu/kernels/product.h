// GEMMs of linear layers, divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_
#define BELAY_BACKENDS_CPU_KERNELS_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/kernels/cache_lines.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/bfloat16_gemm.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// Working memory of a thread for a GEMM with a row stride of `k`: a tile, and widened operands of
// bfloat16.
template <class T>
struct RowProductMemory {
  explicit RowProductMemory(int64_t k)
      : tile(static_cast<int64_t>(TileSize<T>(static_cast<size_t>(k), static_cast<size_t>(k)))) {
    if constexpr (std::is_same_v<T, BFloat16>) widened = WidenedSize(k, 1);
    bytes = tile_bytes() + widened * CheckedInt(int64_t{sizeof(float)});
  }
  // Sets the arguments' memory to that of a thread.
  void Assign(std::byte* memory, ProductArgs<T>& g) const {
    if (tile != 0) g.tile = reinterpret_cast<T*>(memory);
    if (widened.value() == 0) return;
    g.widened = reinterpret_cast<float*>(memory + tile_bytes().value());
  }

  CheckedInt tile_bytes() const {
    return WholeLines(CheckedInt(tile) * CheckedInt(int64_t{sizeof(T)}));
  }

  int64_t tile;            // elements
  CheckedInt widened = 0;  // floats
  CheckedInt bytes;
};

// Runs a GEMM with a row stride of `g.k`. Needs the working memory that RowProductScratch returns.
template <class T>
absl::Status RunRowProduct(const KernelContext& context, const ProductArgs<T>& g) {
  const RowProductMemory<T> memory(static_cast<int64_t>(g.k));
  ABSL_ASSIGN_OR_RETURN(std::byte * bytes,
                        ScratchArray<std::byte>(context, memory.bytes * context.num_threads()));
  RunGemm(context, GemmSizeOf(g, kTileRows, kPanelColumns, kGemmWork<T>),
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            ProductArgs<T> mine = g;
            memory.Assign(bytes + part * memory.bytes.value(), mine);
            PackedGemmRange(mine, row, end_row, column, end_column);
          });
  return absl::OkStatus();
}
template <class T>
uint64_t RowProductScratch(const KernelContext& context, int64_t k) {
  return ScratchBytesOf<std::byte>(RowProductMemory<T>(k).bytes * context.num_threads());
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
