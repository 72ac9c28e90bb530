// The patches of images that a convolution multiplies, in place or in a padded copy.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PATCHES_H_
#define BELAY_BACKENDS_CPU_KERNELS_PATCHES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/cache_lines.h"
#include "backends/cpu/kernels/window_rows.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/depthwise_geometry.h"

namespace belay::cpu {

enum class PatchWay {
  kRows,    // windows of one pixel: the pixels are the GEMM's rows
  kTaps,    // pixels in place
  kPadded,  // a channels last copy with padding, in taps of FewChannelTaps
};

// Channels that a GEMM of T reads from images with `channels` channels.
template <class T>
int64_t ChannelsRead(int64_t channels) {
  return std::is_same_v<T, BFloat16> ? PairedChannels(channels) : channels;
}

// Images of other layouts than channels last are copied. Precondition: convolutions that are grouped
// or transposed have images that are channels last.
template <class T>
PatchWay PatchWayOf(const TensorView& images, const VolumeWindow& window, int64_t groups) {
  const int64_t channels = images.sizes[1];
  const bool may_copy = groups == 1 && !window.axes[2].transposed;
  if (may_copy && (!HasChannelsInnermost(images) || ChannelsRead<T>(channels) != channels)) {
    return PatchWay::kPadded;
  }
  const auto is_point = [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.padding == 0 && a.padding_after == 0 &&
           a.output_padding == 0;
  };
  if (groups == 1 && std::all_of(window.axes.begin(), window.axes.end(), is_point)) {
    return PatchWay::kRows;
  }
  return may_copy && channels < kFewChannels ? PatchWay::kPadded : PatchWay::kTaps;
}

// The taps of a GEMM that reads images in this way: those of the phase with the most taps.
template <class T>
TapSizes TapsOf(PatchWay way, int64_t channels, const VolumeWindow& window) {
  if (way != PatchWay::kPadded) return {window.most_taps().value(), channels};
  const TapSizes plane = FewChannelTaps(ChannelsRead<T>(channels), PlaneOf(window));
  return {window.axes[0].kernel * plane.count, plane.size};
}

// Working memory: a padded copy shared by all threads, and the memory of each thread's rows.
template <class T>
struct PatchScratch {
  CheckedInt copy = 0;  // elements
  WindowRowsMemory<T> rows;

  // `rows` is the number of rows that a GEMM reads at once.
  static PatchScratch For(PatchWay way, int64_t rows, const Sizes& images,
                          const VolumeWindow& window) {
    if (way == PatchWay::kRows) return {};
    const int64_t channels = ChannelsRead<T>(images[1]);
    const bool padded = way == PatchWay::kPadded;
    PatchScratch scratch;
    scratch.rows = WindowRowsMemory<T>::For(rows, TapsOf<T>(way, channels, window).count,
                                            padded ? 0 : channels);
    if (padded) {
      const std::array<int64_t, 4> sizes = VolumeSizes(images);
      scratch.copy = CheckedInt(sizes[0]) * channels;
      for (size_t s = 0; s < 3; ++s) {
        const WindowAxis& axis = window.axes[s];
        scratch.copy =
            scratch.copy * (CheckedInt(sizes[s + 1]) + axis.padding + axis.padding_after);
      }
      scratch.copy = scratch.copy + kSlack;
    }
    return scratch;
  }
  // Elements after the copy that may be read.
  static constexpr int64_t kSlack = 4;

  CheckedInt copy_bytes() const { return WholeLines(copy * CheckedInt(int64_t{sizeof(T)})); }
  CheckedInt bytes(int threads) const { return copy_bytes() + rows.bytes() * threads; }
};

// The images of a call, in place or in a padded copy.
template <class T>
class Patches {
 public:
  // Prepares a call. If `way` is kPadded, makes the padded copy, with `padding` as the elements
  // outside. `memory` has scratch.bytes(context.num_threads()) bytes.
  Patches(const KernelContext& context, PatchWay way, const TensorView& images,
          const VolumeWindow& window, T padding, const PatchScratch<T>& scratch, std::byte* memory)
      : scratch_(scratch),
        memory_(memory + scratch.copy_bytes().value()),
        window_(window),
        sizes_(VolumeSizes(images.sizes)),
        joins_rows_(way == PatchWay::kPadded && RowsAreDense(PlaneOf(window))) {
    source_.data = images.as<const T>();
    source_.channels = ChannelsRead<T>(images.sizes[1]);
    source_.padding = padding;
    if (way != PatchWay::kPadded) return;
    T* const copy = reinterpret_cast<T*>(memory);
    source_.data = copy;
    for (size_t s = 0; s < 3; ++s) {
      WindowAxis& axis = window_.axes[s];
      sizes_[s + 1] += axis.padding + axis.padding_after;
      axis.padding = axis.padding_after = 0;
    }
    const int64_t rows = sizes_[0] * sizes_[1] * sizes_[2], row = sizes_[3] * source_.channels;
    RunRanges(
        context, rows, 1, kElementWork * static_cast<double>(rows * row),
        [&](int, int64_t first, int64_t last) { CopyRows(images, window, first, last, copy); });
    std::fill_n(copy + rows * row, PatchScratch<T>::kSlack, T());
  }

  // [n, depth, height, width, channels], with the padding if it was copied.
  const T* data() const { return source_.data; }
  const std::array<int64_t, 4>& sizes() const { return sizes_; }
  // Whether the pixels of each row of a window are one tap.
  bool joins_rows() const { return joins_rows_; }

  // The windows of results phase[s], phase[s] + stride, ... of `out` along each axis.
  std::array<PhaseSteps, 3> StepsOf(const std::array<int64_t, 4>& out,
                                    const std::array<int64_t, 3>& phase) const {
    std::array<PhaseSteps, 3> steps;
    for (size_t s = 0; s < 3; ++s) {
      steps[s] = PhaseSteps::Of(window_.axes[s], sizes_[s + 1], out[s + 1], phase[s]);
    }
    if (joins_rows_) steps[2].steps.taps = 1;
    return steps;
  }

  // The rows of thread `part`, from window `first_row` on.
  WindowRows<T> RowsOf(int part, const std::array<WindowSteps, 3>& axes,
                       int64_t first_row = 0) const {
    WindowSource<T> source = source_;
    source.axes = axes;
    return WindowRows<T>(source, first_row, scratch_.rows,
                         memory_ + part * scratch_.rows.bytes().value());
  }

 private:
  // Copies rows [first, last) of all planes of the padded images.
  void CopyRows(const TensorView& images, const VolumeWindow& window, int64_t first, int64_t last,
                T* copy) const {
    const auto [batch, depth, height, width] = VolumeSizes(images.sizes);
    const auto& [z, y, x] = window.axes;
    const int64_t channels = source_.channels, row_size = sizes_[3] * channels;
    const int rank = images.rank();
    while (first < last) {
      const int64_t plane = first / sizes_[2], image = plane / sizes_[1];
      const int64_t from_z = plane % sizes_[1] - z.padding, from_y = first % sizes_[2] - y.padding;
      const bool inside = from_y >= 0 && from_y < height && from_z >= 0 && from_z < depth;
      // Up to the beginning or end of the padding.
      const int64_t rest = from_y < 0        ? -from_y
                           : from_y < height ? height - from_y
                                             : sizes_[2] - y.padding - from_y;
      const int64_t rows = std::min(last - first, rest);
      T* const to = copy + first * row_size;
      first += rows;
      if (!inside) {
        std::fill_n(to, rows * row_size, source_.padding);
        continue;
      }
      if (channels != images.sizes[1]) std::fill_n(to, rows * row_size, T());
      for (int64_t i = 0; i < rows; ++i) {
        T* const row = to + i * row_size;
        std::fill_n(row, x.padding * channels, source_.padding);
        std::fill(row + (x.padding + width) * channels, row + row_size, source_.padding);
      }
      TensorView source = images, target = images;
      source.data = images.as<T>() + image * images.strides[0] +
                    (rank == 5 ? from_z * images.strides[2] : 0) +
                    from_y * images.strides[rank - 2];
      target.data = to + x.padding * channels;
      source.sizes = target.sizes = Sizes{images.sizes[1], rows, width};
      source.strides = {images.strides[1], images.strides[rank - 2], images.strides[rank - 1]};
      target.strides = {1, row_size, channels};
      CopyConvertible(source, target);
    }
  }

  const PatchScratch<T>& scratch_;
  std::byte* memory_;             // of the threads
  VolumeWindow window_;           // relative to the data
  std::array<int64_t, 4> sizes_;  // [n, depth, height, width]
  bool joins_rows_;
  WindowSource<T> source_;  // without axes
};

// The sizes of a depthwise convolution of images [n, c, h, w].
inline DepthwiseGeometry GeometryOf(const Sizes& in, const Sizes& out, const Window& w) {
  return {.batch = out[0],
          .channels = out[1],
          .height = in[2],
          .width = in[3],
          .out_height = out[2],
          .out_width = out[3],
          .kernel_height = w.kernel_size[0],
          .kernel_width = w.kernel_size[1],
          .stride_y = w.stride[0],
          .stride_x = w.stride[1],
          .padding_y = w.padding[0],
          .padding_x = w.padding[1],
          .dilation_y = w.dilation[0],
          .dilation_x = w.dilation[1]};
}

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_PATCHES_H_
