// Convolutions as products with packed filters, divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
#define BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "backends/cpu/calls.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/product.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/call/operands.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// The convolution of `in` by `filters` into `out`, which is channels last and has elements. Needs the
// working memory that ConvolutionScratch says.
template <class T>
absl::Status RunConvolution(const KernelContext& context, const TensorView& in,
                            const TensorView& filters, const Window& window,
                            const EpilogueOn<T>& epilogue, const TensorView& out) {
  ProductArgs<T> g;
  g.epilogue = epilogue;
  const int64_t channels = in.sizes[1];
  g.n = static_cast<size_t>(out.sizes[1]);
  g.m = static_cast<size_t>(out.numel()) / g.n;
  g.b = filters.as<const T>();
  g.c = out.as<T>();
  g.ldc = g.n;
  const PatchWay way = PatchWayOf<T>(in, window);
  const TapSizes taps = TapsOf<T>(way, channels, window);
  g.taps = static_cast<size_t>(taps.count);
  g.k = static_cast<size_t>(taps.size);
  if (way == PatchWay::kRows) {
    g.a = in.as<const T>();
    g.lda = g.k;
    return RunRowProduct(context, g);
  }
  const auto scratch = PatchScratch<T>::For(way, kGroupRows, in.sizes, window);
  ABSL_ASSIGN_OR_RETURN(std::byte * memory,
                        ScratchArray<std::byte>(context, scratch.bytes(context.num_threads())));
  const Patches<T> patches(context, way, in, out, window, T(), scratch, memory);
  RunProduct(context, SizeOf(g, kTileRows, kPanelColumns, kProductWork<T>),
             [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
               const typename Patches<T>::Reader reader(patches, part);
               ProductArgs<T> mine = g;
               mine.row_pointers = &Patches<T>::Reader::RowPointers;
               mine.source = &reader;
               mine.pointers = reader.pointers();
               PackedGemmRange(mine, row, end_row, column, end_column);
             });
  return absl::OkStatus();
}

// Of those of these ways beside kRows that take most: which one it is depends on sizes, in layouts that
// look alike.
template <class T>
uint64_t ConvolutionScratch(const KernelContext& context, const Sizes& images, const Window& window,
                            std::initializer_list<PatchWay> ways) {
  uint64_t most = RowProductScratch<T>(context, images[1]);
  for (PatchWay way : ways) {
    const auto scratch = PatchScratch<T>::For(way, kGroupRows, images, window);
    most = std::max(most, ScratchBytesOf<std::byte>(scratch.bytes(context.num_threads())));
  }
  return most;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
