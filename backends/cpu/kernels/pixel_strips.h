// Contiguous results of convolutions, which compute all channels of a pixel.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PIXEL_STRIPS_H_
#define BELAY_BACKENDS_CPU_KERNELS_PIXEL_STRIPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/cpu/kernels/epilogue_of.h"
#include "runtime/core/budget.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/packed/packed_gemm.h"

namespace belay::cpu {

inline constexpr int64_t kStripElements = 64 << 10;  // fit the second-level cache

// kInvalidArgument unless a result [n, c, ...] is channels last, or contiguous without an operand
// that is combined with it.
inline absl::Status CheckPixelLayout(const TensorView& out, bool has_other) {
  if (has_other || !out.is_contiguous()) return ExpectChannelsLast("result", out);
  return absl::OkStatus();
}

// Copies `count` pixels of all images from `pixel` on, and channels [channel, end_channel), to a
// contiguous result [n, c, ...]. strip[i * c + j] is channel j of pixel `pixel` + i.
inline void StorePixels(const float* strip, int64_t pixel, int64_t count, int64_t channel,
                        int64_t end_channel, const TensorView& out) {
  const int64_t channels = out.sizes[1], plane = out.strides[1];
  while (count > 0) {
    const int64_t image = pixel / plane, at = pixel % plane, some = std::min(plane - at, count);
    TensorView from, to;
    from.sizes = to.sizes = {end_channel - channel, some};
    from.strides = {1, channels};
    from.data = const_cast<float*>(strip) + channel;
    to.strides = {plane, 1};
    to.data = out.as<float>() + (image * channels + channel) * plane + at;
    CopyConvertible(from, to);
    strip += some * channels;
    pixel += some;
    count -= some;
  }
}

// Runs a GEMM whose result [n, c, ...] has channels as columns and the pixels of all images as rows.
// A contiguous result is computed in strips of pixels: in working memory, then transposed.
class PixelStrips {
 public:
  // `out` may have upper bounds instead of sizes; `weights` are elements.
  PixelStrips(const TensorView& out, int64_t weights)
      : out_(out),
        used_(!HasChannelsInnermost(out)),
        pixels_(StepsFor(std::max<int64_t>(out.sizes[1], 1), out.numel(), weights) * kStep) {}
  // For the planned result of a call.
  static CheckedInt SizeFor(const KernelContext& context, int64_t weights) {
    const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
    return out.ok() && (*out)->rank() >= 3 ? PixelStrips(**out, weights).size() : CheckedInt(0);
  }

  // Whether the result is not channels last.
  bool used() const { return used_; }
  // Floats of the working memory of a thread.
  CheckedInt size() const {
    return used_ ? CheckedInt(pixels_) * CheckedInt(out_.sizes[1]) : CheckedInt(0);
  }

  // Computes rows [row, end_row) and columns [column, end_column) of the GEMM by `range`:
  // PackedGemmRange or NarrowGroupsRange. With several groups, all columns. `start_at` makes a row
  // the first one of A.
  void Run(const PackedGemmArgs& g, size_t row, size_t end_row, size_t column, size_t end_column,
           void (*range)(const PackedGemmArgs&, size_t, size_t, size_t, size_t), float* strip,
           absl::FunctionRef<void(PackedGemmArgs&, size_t)> start_at) const {
    if (!used_) return range(g, row, end_row, column, end_column);
    const int64_t channels = out_.sizes[1];
    const auto end_channel = std::min(static_cast<int64_t>(end_column), channels);
    PackedGemmArgs part = g;
    part.c = strip;
    Budget::Pace pace;
    for (size_t count; row < end_row; row += count) {
      count = std::min(end_row - row, static_cast<size_t>(pixels_));
      if (pace.Stop(static_cast<int64_t>(count) * channels)) return;
      start_at(part, row);
      range(part, 0, count, column, end_column);
      StorePixels(strip, static_cast<int64_t>(row), static_cast<int64_t>(count),
                  static_cast<int64_t>(column), end_channel, out_);
    }
  }

 private:
  // Strips are whole tiles of the GEMM and whole cache lines. With fewer pixels the weights are read
  // more often; the limit does not make the stores slower.
  static constexpr int64_t kStep = 48, kMostSteps = 48;
  static_assert(kStep % kTileRows == 0 && kStep * sizeof(float) % kLineBytes == 0);
  // Weights are read again for each strip, so large ones allow a strip of an eighth of their size.
  static constexpr int64_t kWeightsPerElement = 8;

  // Grows with the number of elements.
  static int64_t StepsFor(int64_t channels, int64_t elements, int64_t weights) {
    const int64_t most = std::max(kStripElements, weights / kWeightsPerElement);
    const int64_t all = std::max<int64_t>((elements / channels + kStep - 1) / kStep, 1);
    return std::min(all, std::clamp<int64_t>(most / channels / kStep, 1, kMostSteps));
  }

  TensorView out_;
  bool used_;
  int64_t pixels_;  // of a strip
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_PIXEL_STRIPS_H_
