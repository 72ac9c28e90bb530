// How convolutions read the rows of their products: patches of images, in place or copied.
#ifndef BELAY_BACKENDS_CPU_KERNELS_PATCHES_H_
#define BELAY_BACKENDS_CPU_KERNELS_PATCHES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/calls.h"
#include "runtime/core/checked_math.h"
#include "runtime/core/tensor_view.h"
#include "runtime/kernels/elements/channels_last.h"
#include "runtime/kernels/packed/depthwise_geometry.h"

namespace belay::cpu {

enum class PatchWay {
  kRows,  // 1x1: the pixels are the rows
  kTaps,  // pieces of pixels in place
  kCopy,  // patches are copied, a tile at a time
};

// Below kFewChannels channels a tap has too few elements to be worth a loop of its own.
inline PatchWay PatchWayOf(const TensorView& images, const Window& w) {
  if (!IsChannelsLast(images)) return PatchWay::kCopy;
  if (w.taps() == 1 && w.stride == std::array<int64_t, 2>{1, 1} &&
      w.padding == std::array<int64_t, 2>{0, 0} &&
      w.padding_after == std::array<int64_t, 2>{0, 0}) {
    return PatchWay::kRows;
  }
  return images.sizes[1] < kFewChannels ? PatchWay::kCopy : PatchWay::kTaps;
}

// What the functions below get as `source`.
template <class T>
struct Patches {
  const TensorView* image;
  const Window* window;
  int64_t out_height, out_width;
  T padding;         // an element outside
  const T* outside;  // a pixel of these; kTaps
  T* tile;           // kCopy: a tile of patches
  // kCopy: where the elements of a patch lie from its first one on.
  int64_t* offsets;
};

// Calls visit(row, image, y, x) for each of the rows, with the place of the patch's first tap.
template <class T, class Visit>
void ForEachPatch(const Patches<T>& p, size_t first, size_t count, const Visit& visit) {
  int64_t x = static_cast<int64_t>(first) % p.out_width;
  int64_t rest = static_cast<int64_t>(first) / p.out_width;
  int64_t y = rest % p.out_height;
  int64_t image = rest / p.out_height;
  for (size_t i = 0; i < count; ++i) {
    visit(i, image, y * p.window->stride[0] - p.window->padding[0],
          x * p.window->stride[1] - p.window->padding[1]);
    if (++x < p.out_width) continue;
    x = 0;
    if (++y < p.out_height) continue;
    y = 0;
    ++image;
  }
}

// The row pointers of kTaps.
template <class T>
void PointIntoImage(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                    const T** pointers) {
  const auto& p = *static_cast<const Patches<T>*>(source);
  const TensorView& in = *p.image;
  const Window& w = *p.window;
  const T* data = in.as<const T>();
  const int64_t channels = in.sizes[1], height = in.sizes[2], width = in.sizes[3];
  const auto first_tap = static_cast<int64_t>(tap);
  ForEachPatch(p, first, count, [&](size_t i, int64_t image, int64_t y0, int64_t x0) {
    const T** to = pointers + i;
    int64_t j = first_tap / w.kernel_size[1], k = first_tap % w.kernel_size[1];
    for (size_t t = 0; t < taps; ++t, to += count) {
      const int64_t y = y0 + j * w.dilation[0], x = x0 + k * w.dilation[1];
      const bool inside = y >= 0 && y < height && x >= 0 && x < width;
      *to = inside ? data + ((image * height + y) * width + x) * channels : p.outside;
      if (++k < w.kernel_size[1]) continue;
      k = 0;
      ++j;
    }
  });
}

// Fills Patches::offsets.
template <class T>
void FindOffsets(const Patches<T>& p) {
  const TensorView& in = *p.image;
  const Window& w = *p.window;
  int64_t* to = p.offsets;
  for (int64_t j = 0; j < w.kernel_size[0]; ++j) {
    for (int64_t k = 0; k < w.kernel_size[1]; ++k) {
      for (int64_t c = 0; c < in.sizes[1]; ++c) {
        *to++ = j * w.dilation[0] * in.strides[2] + k * w.dilation[1] * in.strides[3] +
                c * in.strides[1];
      }
    }
  }
}

// The row pointers of kCopy: into the tile. One tap, the whole patch.
template <class T>
void CopyPatches(const void* source, size_t first, size_t count, size_t, size_t,
                 const T** pointers) {
  const auto& p = *static_cast<const Patches<T>*>(source);
  const TensorView& in = *p.image;
  const Window& w = *p.window;
  const int64_t channels = in.sizes[1], height = in.sizes[2], width = in.sizes[3];
  const int64_t reach_y = (w.kernel_size[0] - 1) * w.dilation[0];
  const int64_t reach_x = (w.kernel_size[1] - 1) * w.dilation[1];
  const int64_t size = w.taps() * channels;
  T* to = p.tile;
  ForEachPatch(p, first, count, [&](size_t i, int64_t image, int64_t y0, int64_t x0) {
    pointers[i] = to;
    const T* data = in.as<const T>() + image * in.strides[0];
    if (y0 >= 0 && y0 + reach_y < height && x0 >= 0 && x0 + reach_x < width) {
      const T* first_element = data + y0 * in.strides[2] + x0 * in.strides[3];
      for (int64_t e = 0; e < size; ++e) to[e] = first_element[p.offsets[e]];
      to += size;
      return;
    }
    for (int64_t j = 0; j < w.kernel_size[0]; ++j) {
      const int64_t y = y0 + j * w.dilation[0];
      for (int64_t k = 0; k < w.kernel_size[1]; ++k, to += channels) {
        const int64_t x = x0 + k * w.dilation[1];
        if (y < 0 || y >= height || x < 0 || x >= width) {
          std::fill(to, to + channels, p.padding);
          continue;
        }
        const T* from = data + y * in.strides[2] + x * in.strides[3];
        for (int64_t c = 0; c < channels; ++c) to[c] = from[c * in.strides[1]];
      }
    }
  });
}

// Working memory of a thread: the pointers, offsets, then what the pointers point to.
template <class T>
struct PatchScratch {
  CheckedInt pointers = 0, elements = 0, offsets = 0;

  // `rows` are those that are read at once.
  static PatchScratch For(PatchWay way, int64_t rows, int64_t channels, const Window& window) {
    switch (way) {
      case PatchWay::kRows:
        return {};
      case PatchWay::kTaps:
        return {.pointers = CheckedInt(rows) * window.taps(), .elements = channels};
      case PatchWay::kCopy:
        return {.pointers = rows,
                .elements = CheckedInt(rows) * window.taps() * channels,
                .offsets = CheckedInt(window.taps()) * channels};
    }
    return {};
  }
  // Whole cache lines.
  CheckedInt bytes() const {
    constexpr int64_t kLine = 64;
    const CheckedInt bytes = pointers * CheckedInt(int64_t{sizeof(const T*)}) +
                             offsets * CheckedInt(int64_t{sizeof(int64_t)}) +
                             elements * CheckedInt(int64_t{sizeof(T)});
    return FloorDiv(bytes + CheckedInt(kLine - 1), CheckedInt(kLine)) * CheckedInt(kLine);
  }

  // Its parts in a thread's memory.
  struct Parts {
    const T** pointers;
    int64_t* offsets;
    T* elements;
  };
  Parts In(std::byte* memory) const {
    Parts parts;
    parts.pointers = reinterpret_cast<const T**>(memory);
    memory += static_cast<size_t>(pointers.value()) * sizeof(const T*);
    parts.offsets = reinterpret_cast<int64_t*>(memory);
    memory += static_cast<size_t>(offsets.value()) * sizeof(int64_t);
    parts.elements = reinterpret_cast<T*>(memory);
    return parts;
  }
};

// The sizes of a depthwise convolution of these tensors.
inline DepthwiseGeometry GeometryOf(const TensorView& in, const TensorView& out, const Window& w) {
  return {.batch = out.sizes[0],
          .channels = out.sizes[1],
          .height = in.sizes[2],
          .width = in.sizes[3],
          .out_height = out.sizes[2],
          .out_width = out.sizes[3],
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
