// Convolutions as GEMMs with packed filters, divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
#define BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "backends/cpu/calls.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/product.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// Elements of the row copy that a GEMM of T may need for AMX. Each file with such GEMMs specializes
// it for its T.
template <class T>
CheckedInt RowCopySize(const TapSizes& taps);

// Working memory of a convolution: memory of the patches, then a row copy per thread.
template <class T>
struct ConvolutionMemory {
  ConvolutionMemory(const KernelContext& context, PatchWay way, const Sizes& images,
                    const Window& window)
      : taps(TapsOf<T>(way, images[1], window)),
        patches(PatchScratch<T>::For(way, kRows, images, window)),
        patches_bytes(patches.bytes(context.num_threads())),
        copy(RowCopySize<T>(taps)),
        bytes(patches_bytes + copy * CheckedInt(int64_t{sizeof(T)}) * context.num_threads()) {}

  // Returns the row copy of thread `part` in `scratch`, which has `bytes` bytes; null if none is
  // needed.
  T* CopyOf(int part, std::byte* scratch) const {
    if (copy.value() == 0) return nullptr;
    return reinterpret_cast<T*>(scratch + patches_bytes.value()) + part * copy.value();
  }

  // Maximum number of rows that a GEMM reads at once.
  static constexpr int64_t kRows = kGroupRows;

  TapSizes taps;
  PatchScratch<T> patches;
  CheckedInt patches_bytes;
  CheckedInt copy;  // elements
  CheckedInt bytes;
};

// Convolves `in` with `filters` into `out`, which is channels last and not empty. Needs the working
// memory that ConvolutionScratch returns.
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
  const ConvolutionMemory<T> memory(context, way, in.sizes, window);
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch, ScratchArray<std::byte>(context, memory.bytes));
  const Patches<T> patches(context, way, in, out, window, T(), memory.patches, scratch);
  RunProduct(context, SizeOf(g, kTileRows, kPanelColumns, kProductWork<T>),
             [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
               const typename Patches<T>::Reader reader(patches, part);
               ProductArgs<T> mine = g;
               mine.row_pointers = &Patches<T>::Reader::RowPointers;
               mine.source = &reader;
               mine.pointers = reader.pointers();
               mine.zeros = reader.outside();
               mine.copy = memory.CopyOf(part, scratch);
               PackedGemmRange(mine, row, end_row, column, end_column);
             });
  return absl::OkStatus();
}

// Bytes for the most demanding of `ways` and kRows. The way depends on sizes, and layouts do not
// always distinguish them.
template <class T>
uint64_t ConvolutionScratch(const KernelContext& context, const Sizes& images, const Window& window,
                            std::initializer_list<PatchWay> ways) {
  uint64_t most = RowProductScratch<T>(context, images[1]);
  for (PatchWay way : ways) {
    const ConvolutionMemory<T> memory(context, way, images, window);
    most = std::max(most, ScratchBytesOf<std::byte>(memory.bytes));
  }
  return most;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
