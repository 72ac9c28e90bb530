// Indirection buffers for convolutions: pointers to image patches, in place or in a padded copy.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PATCHES_H_
#define BELAY_BACKENDS_CPU_KERNELS_PATCHES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backends/cpu/bfloat16_calls.h"
#include "backends/cpu/calls.h"
#include "backends/cpu/kernels/cache_lines.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/element.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/element_copy/channels_last.h"
#include "runtime/kernels/element_copy/copy_strided.h"
#include "runtime/kernels/operands/ranges.h"
#include "runtime/kernels/packed/depthwise_geometry.h"

namespace belay::cpu {

enum class PatchWay {
  kRows,    // 1x1: the pixels are the GEMM's rows
  kTaps,    // pixels in place
  kPadded,  // a channels last copy with padding, in taps of FewChannelTaps
};

// Channels that a GEMM of T reads from images with `channels` channels.
template <class T>
int64_t ChannelsRead(int64_t channels) {
  return std::is_same_v<T, BFloat16> ? PairedChannels(channels) : channels;
}

template <class T>
PatchWay PatchWayOf(const TensorView& images, const Window& w) {
  const int64_t channels = images.sizes[1];
  if (!IsChannelsLast(images) || ChannelsRead<T>(channels) != channels) return PatchWay::kPadded;
  if (w.taps() == 1 && w.stride == std::array<int64_t, 2>{1, 1} &&
      w.padding == std::array<int64_t, 2>{0, 0} &&
      w.padding_after == std::array<int64_t, 2>{0, 0}) {
    return PatchWay::kRows;
  }
  return channels < kFewChannels ? PatchWay::kPadded : PatchWay::kTaps;
}

// The taps of a GEMM that reads images in this way.
template <class T>
TapSizes TapsOf(PatchWay way, int64_t channels, const Window& window) {
  return way == PatchWay::kPadded ? FewChannelTaps(ChannelsRead<T>(channels), window)
                                  : TapSizes{window.taps(), channels};
}

// Working memory: a padded copy shared by all threads. Per thread: row pointers, tap offsets
// relative to the first tap, and a padding pixel.
template <class T>
struct PatchScratch {
  CheckedInt copy = 0;  // elements
  CheckedInt pointers = 0, offsets = 0, outside = 0;

  // `rows` is the number of rows that a GEMM reads at once.
  static PatchScratch For(PatchWay way, int64_t rows, const Sizes& images, const Window& w) {
    if (way == PatchWay::kRows) return {};
    const int64_t channels = ChannelsRead<T>(images[1]);
    const int64_t taps = TapsOf<T>(way, channels, w).count;
    PatchScratch scratch = {.pointers = CheckedInt(rows) * taps, .offsets = taps};
    if (way == PatchWay::kTaps) {
      scratch.outside = channels;
    } else {
      const CheckedInt height = CheckedInt(images[2]) + w.padding[0] + w.padding_after[0];
      const CheckedInt width = CheckedInt(images[3]) + w.padding[1] + w.padding_after[1];
      scratch.copy = CheckedInt(images[0]) * height * width * channels + kSlack;
    }
    return scratch;
  }
  // Elements after the copy that may be read.
  static constexpr int64_t kSlack = 4;

  CheckedInt copy_bytes() const { return WholeLines(copy * CheckedInt(int64_t{sizeof(T)})); }
  CheckedInt thread_bytes() const {
    return WholeLines((pointers + offsets) * CheckedInt(int64_t{sizeof(void*)}) +
                      outside * CheckedInt(int64_t{sizeof(T)}));
  }
  CheckedInt bytes(int threads) const { return copy_bytes() + thread_bytes() * threads; }
};

// Shared state of a call's patches; its Readers are the `source` of RowPointers.
template <class T>
class Patches {
 public:
  // Prepares a call. If `way` is kPadded, makes the padded copy, with `padding` as the elements
  // outside. `memory` has scratch.bytes(context.num_threads()) bytes.
  Patches(const KernelContext& context, PatchWay way, const TensorView& images,
          const TensorView& out, const Window& window, T padding, const PatchScratch<T>& scratch,
          std::byte* memory)
      : scratch_(scratch),
        memory_(memory + scratch.copy_bytes().value()),
        window_(window),
        out_height_(out.sizes[2]),
        out_width_(out.sizes[3]),
        channels_(ChannelsRead<T>(images.sizes[1])),
        height_(images.sizes[2]),
        width_(images.sizes[3]),
        data_(images.as<const T>()),
        padding_(padding) {
    if (way != PatchWay::kPadded) return;
    T* copy = reinterpret_cast<T*>(memory);
    height_ += window.padding[0] + window.padding_after[0];
    width_ += window.padding[1] + window.padding_after[1];
    data_ = copy;
    const int64_t rows = images.sizes[0] * height_;
    RunRanges(context, rows, 1, kElementWork * static_cast<double>(rows * width_ * channels_),
              [&](int, int64_t first, int64_t last) { CopyRows(images, first, last, copy); });
    std::fill_n(copy + rows * width_ * channels_, PatchScratch<T>::kSlack, T());
    window_.padding = {0, 0};
    if (RowsAreDense(window)) window_.kernel_size[1] = 1;
  }

  // A thread's part of the memory.
  class Reader {
   public:
    // Rows begin at channel `first_channel`.
    Reader(const Patches& patches, int part, int64_t first_channel = 0) : patches_(patches) {
      std::byte* memory = patches.memory_ + part * patches.scratch_.thread_bytes().value();
      pointers_ = reinterpret_cast<const T**>(memory);
      memory += static_cast<size_t>(patches.scratch_.pointers.value()) * sizeof(const T*);
      offsets_ = reinterpret_cast<int64_t*>(memory);
      memory += static_cast<size_t>(patches.scratch_.offsets.value()) * sizeof(int64_t);
      outside_ = reinterpret_cast<T*>(memory);
      std::fill_n(outside_, patches.scratch_.outside.value(), patches.padding_);
      const Window& w = patches.window_;
      for (int64_t t = 0; t < patches.scratch_.offsets.value(); ++t) {
        const int64_t j = t / w.kernel_size[1], k = t % w.kernel_size[1];
        const int64_t pixel = j * w.dilation[0] * patches.width_ + k * w.dilation[1];
        offsets_[t] = pixel * patches.channels_ + first_channel;
      }
    }
    const T** pointers() const { return pointers_; }
    // Makes pixel `row` the first one.
    void StartAt(size_t row) { first_row_ = row; }
    // Address returned for pixels in the padding; null if the images are copied with their padding.
    const T* outside() const { return patches_.scratch_.outside.value() == 0 ? nullptr : outside_; }

    // Implements RowPointersFn and QuantizedRowPointersFn; `source` is a Reader.
    static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                            const T** pointers) {
      const auto* reader = static_cast<const Reader*>(source);
      reader->Find(reader->first_row_ + first, count, tap, taps, pointers);
    }

   private:
    void Find(size_t first, size_t count, size_t tap, size_t taps, const T** pointers) const {
      const Patches& p = patches_;
      const Window& w = p.window_;
      const int64_t reach_y = (w.kernel_size[0] - 1) * w.dilation[0];
      const int64_t reach_x = (w.kernel_size[1] - 1) * w.dilation[1];
      int64_t x = static_cast<int64_t>(first) % p.out_width_;
      int64_t rest = static_cast<int64_t>(first) / p.out_width_;
      int64_t y = rest % p.out_height_;
      int64_t image = rest / p.out_height_;
      for (size_t i = 0, run; i < count; i += run) {
        const int64_t y0 = y * w.stride[0] - w.padding[0], x0 = x * w.stride[1] - w.padding[1];
        // An offset, not a pointer: the first tap may be outside of the image.
        const int64_t base = ((image * p.height_ + y0) * p.width_ + x0) * p.channels_;
        const T** to = pointers + i;
        if (y0 >= 0 && y0 + reach_y < p.height_ && x0 >= 0 && x0 + reach_x < p.width_) {
          // Also the next pixels of the row whose windows are inside the image.
          const int64_t more = (p.width_ - 1 - reach_x - x0) / w.stride[1] + 1;
          run = std::min(count - i, static_cast<size_t>(std::min(more, p.out_width_ - x)));
          const int64_t step = w.stride[1] * p.channels_;
          for (size_t t = 0; t < taps; ++t, to += count) {
            const T* from = p.data_ + base + offsets_[tap + t];
            for (size_t r = 0; r < run; ++r) to[r] = from + static_cast<int64_t>(r) * step;
          }
        } else {
          run = 1;
          int64_t j = static_cast<int64_t>(tap) / w.kernel_size[1];
          int64_t k = static_cast<int64_t>(tap) % w.kernel_size[1];
          for (size_t t = 0; t < taps; ++t, to += count) {
            const int64_t row = y0 + j * w.dilation[0], column = x0 + k * w.dilation[1];
            const bool inside = row >= 0 && row < p.height_ && column >= 0 && column < p.width_;
            *to = inside ? p.data_ + base + offsets_[tap + t] : outside_;
            if (++k < w.kernel_size[1]) continue;
            k = 0;
            ++j;
          }
        }
        x += static_cast<int64_t>(run);
        if (x < p.out_width_) continue;
        x = 0;
        if (++y < p.out_height_) continue;
        y = 0;
        ++image;
      }
    }

    const Patches& patches_;
    size_t first_row_ = 0;
    const T** pointers_;
    int64_t* offsets_;
    T* outside_;
  };

 private:
  // Copies rows [first, last) of all padded images.
  void CopyRows(const TensorView& images, int64_t first, int64_t last, T* copy) const {
    const int64_t height = images.sizes[2], width = images.sizes[3];
    const int64_t top = window_.padding[0], left = window_.padding[1];
    while (first < last) {
      const int64_t image = first / height_, y = first % height_ - top;
      const bool inside = y >= 0 && y < height;
      // Up to the beginning or end of the padding.
      const int64_t rows = std::min(last - first, inside  ? height - y
                                                  : y < 0 ? -y
                                                          : height_ - top - y);
      T* to = copy + first * width_ * channels_;
      first += rows;
      if (!inside) {
        std::fill_n(to, rows * width_ * channels_, padding_);
        continue;
      }
      if (channels_ != images.sizes[1]) std::fill_n(to, rows * width_ * channels_, T());
      for (int64_t i = 0; i < rows; ++i) {
        T* row = to + i * width_ * channels_;
        std::fill_n(row, left * channels_, padding_);
        std::fill_n(row + (left + width) * channels_, (width_ - left - width) * channels_,
                    padding_);
      }
      TensorView source = images, target = images;
      source.data = images.as<T>() + image * images.strides[0] + y * images.strides[2];
      target.data = to + left * channels_;
      source.sizes = target.sizes = Sizes{1, images.sizes[1], rows, width};
      target.strides = Strides{0, 1, width_ * channels_, channels_};
      CopyConvertible(source, target);
    }
  }

  const PatchScratch<T>& scratch_;
  std::byte* memory_;  // per-thread part
  Window window_;      // relative to data_
  int64_t out_height_, out_width_;
  int64_t channels_, height_, width_;
  const T* data_;  // [n, height, width, channels]
  T padding_;
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
