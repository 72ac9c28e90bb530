// Convolutions as GEMMs with packed filters, divided among threads.
#ifndef BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
#define BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>

#include "backends/cpu/calls.h"
#include "backends/cpu/kernels/cache_lines.h"
#include "backends/cpu/kernels/patches.h"
#include "backends/cpu/kernels/pixel_strips.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernels/operands/gemm_ranges.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/packed/bfloat16_gemm.h"
#include "runtime/kernels/packed/packed_gemm.h"
#include "runtime/kernels/packed/packed_weights.h"

namespace belay::cpu {

// Elements of the row copy of a GEMM of T, for AMX or because rows would evict each other; 0 if it
// needs none. Each file with such GEMMs specializes it for its T.
template <class T>
CheckedInt RowCopySize(PatchWay way, const TapSizes& taps);

// Elements of ProductArgs::tile for pixels as rows.
template <class T>
CheckedInt PixelTileSize(const TapSizes& taps) {
  const auto row = static_cast<size_t>(taps.size);
  return static_cast<int64_t>(TileSize<T>(row, row));
}

// Working memory of a convolution: memory of the patches, then a row copy, a strip of results
// (pixel_strips.h), and widened operands of bfloat16 per thread.
template <class T>
struct ConvolutionMemory {
  ConvolutionMemory(const KernelContext& context, PatchWay way, const Sizes& images,
                    const Window& window, CheckedInt strip = 0)
      : taps(TapsOf<T>(way, images[1], window)),
        patches(PatchScratch<T>::For(way, kRows, images, window)),
        patches_bytes(patches.bytes(context.num_threads())),
        copy(RowCopySize<T>(way, taps)),
        strip(strip),
        widened(WidenedOf(taps)),
        thread_bytes(copy_bytes() + widened * CheckedInt(int64_t{sizeof(float)})),
        bytes(patches_bytes + thread_bytes * context.num_threads()) {}

  // Return the row copy, the strip and the widened operands of thread `part` in `scratch`, which has
  // `bytes` bytes; null if none is needed.
  T* CopyOf(int part, std::byte* scratch) const {
    return copy.value() == 0 ? nullptr : reinterpret_cast<T*>(OfThread(part, scratch));
  }
  T* StripOf(int part, std::byte* scratch) const {
    return strip.value() == 0 ? nullptr
                              : reinterpret_cast<T*>(OfThread(part, scratch)) + copy.value();
  }
  float* WidenedOf(int part, std::byte* scratch) const {
    return widened.value() == 0
               ? nullptr
               : reinterpret_cast<float*>(OfThread(part, scratch) + copy_bytes().value());
  }

  // Maximum number of rows that a GEMM reads at once.
  static constexpr int64_t kRows = kGroupRows;

  TapSizes taps;
  PatchScratch<T> patches;
  CheckedInt patches_bytes;
  CheckedInt copy, strip;  // elements
  CheckedInt widened;      // floats
  CheckedInt thread_bytes, bytes;

 private:
  static CheckedInt WidenedOf(const TapSizes& taps) {
    if constexpr (!std::is_same_v<T, BFloat16>) return 0;
    return WidenedSize(taps.size, taps.count);
  }
  CheckedInt copy_bytes() const {
    return WholeLines((copy + strip) * CheckedInt(int64_t{sizeof(T)}));
  }
  std::byte* OfThread(int part, std::byte* scratch) const {
    return scratch + patches_bytes.value() + part * thread_bytes.value();
  }
};

// Convolves `in` with `filters` into `out`, which is not empty, and channels last unless T is float.
// Needs the working memory that ConvolutionScratch returns.
template <class T>
absl::Status RunConvolution(const KernelContext& context, const TensorView& in,
                            const TensorView& filters, const Window& window,
                            const EpilogueOn<T>& epilogue, const TensorView& out) {
  ProductArgs<T> g;
  g.epilogue = epilogue;
  g.n = static_cast<size_t>(out.sizes[1]);
  g.m = static_cast<size_t>(out.numel()) / g.n;
  g.b = filters.as<const T>();
  g.c = out.as<T>();
  g.ldc = g.n;
  const PatchWay way = PatchWayOf<T>(in, window);
  const PixelStrips strips(out, filters.numel());
  const ConvolutionMemory<T> memory(context, way, in.sizes, window, strips.size());
  ABSL_ASSIGN_OR_RETURN(std::byte * scratch, ScratchArray<std::byte>(context, memory.bytes));
  g.taps = static_cast<size_t>(memory.taps.count);
  g.k = static_cast<size_t>(memory.taps.size);
  std::optional<Patches<T>> patches;
  if (way == PatchWay::kRows) {
    g.a = in.as<const T>();
    g.lda = g.k;
  } else {
    patches.emplace(context, way, in, out, window, T(), memory.patches, scratch);
    g.row_pointers = &Patches<T>::Reader::RowPointers;
  }
  RunGemm(context, GemmSizeOf(g, kTileRows, kPanelColumns, kGemmWork<T>),
          [&](int part, size_t row, size_t end_row, size_t column, size_t end_column) {
            ProductArgs<T> mine = g;
            std::optional<typename Patches<T>::Reader> reader;
            if (patches.has_value()) {
              reader.emplace(*patches, part);
              mine.source = &*reader;
              mine.pointers = reader->pointers();
              mine.zeros = reader->outside();
              mine.copy = memory.CopyOf(part, scratch);
            } else {
              mine.tile = memory.CopyOf(part, scratch);
            }
            mine.widened = memory.WidenedOf(part, scratch);
            if constexpr (std::is_same_v<T, float>) {
              strips.Run(mine, row, end_row, column, end_column, PackedGemmRange,
                         memory.StripOf(part, scratch), [&](ProductArgs<T>& strip, size_t first) {
                           if (reader.has_value()) {
                             reader->StartAt(first);
                           } else {
                             strip.a = g.a + first * g.lda;
                           }
                         });
            } else {
              PackedGemmRange(mine, row, end_row, column, end_column);
            }
          });
  return absl::OkStatus();
}

// Bytes for the most demanding of `ways` and kRows. The way depends on sizes, and layouts do not
// always distinguish them.
template <class T>
uint64_t ConvolutionScratch(const KernelContext& context, const Sizes& images,
                            const TensorView& filters, const Window& window,
                            std::initializer_list<PatchWay> ways) {
  const CheckedInt strip = PixelStrips::SizeFor(context, filters.numel());
  const auto bytes = [&](PatchWay way) {
    return ScratchBytesOf<std::byte>(
        ConvolutionMemory<T>(context, way, images, window, strip).bytes);
  };
  uint64_t most = bytes(PatchWay::kRows);
  for (PatchWay way : ways) most = std::max(most, bytes(way));
  return most;
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_CONVOLUTION_H_
