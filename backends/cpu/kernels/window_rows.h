// Indirection buffers of convolutions: pointers to the pixels of windows, channels last. Images are
// volumes of depth 1.
#ifndef BELAY_BACKENDS_CPU_KERNELS_WINDOW_ROWS_H_
#define BELAY_BACKENDS_CPU_KERNELS_WINDOW_ROWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/convolution_calls.h"
#include "backends/cpu/kernels/cache_lines.h"
#include "runtime/core/checked_math.h"

namespace belay::cpu {

// Windows along one dimension: tap t of result o reads input position first + o * stride + t * step.
struct WindowSteps {
  int64_t size = 1;   // of the input
  int64_t count = 1;  // results
  int64_t taps = 1;
  int64_t first = 0, stride = 1, step = 1;

  int64_t lowest() const { return first + std::min<int64_t>(0, (taps - 1) * step); }
  int64_t highest() const { return first + std::max<int64_t>(0, (taps - 1) * step); }
};

// Results phase, phase + stride, ... of a transposed convolution, or all results of another one.
struct PhaseSteps {
  WindowSteps steps;  // without taps, these results are sums without terms
  int64_t first_tap = 0;

  // `size` and `out_size` are those of the input and of the result.
  static PhaseSteps Of(const WindowAxis& axis, int64_t size, int64_t out_size, int64_t phase) {
    PhaseSteps p;
    p.steps.size = size;
    if (!axis.transposed) {
      p.steps.count = out_size;
      p.steps.taps = axis.kernel;
      p.steps.first = -axis.padding;
      p.steps.stride = axis.stride;
      p.steps.step = axis.dilation;
      return p;
    }
    p.steps.count = (out_size - phase + axis.stride - 1) / axis.stride;
    p.steps.taps = 0;
    for (int64_t t = 0; t < axis.phases(); ++t) {
      const int64_t reach = phase + axis.padding - t * axis.dilation;
      if (reach % axis.stride != 0) continue;
      p.first_tap = t;
      p.steps.taps = axis.taps_of(t);
      p.steps.first = reach / axis.stride;
      p.steps.step = -(axis.tap_step() * axis.dilation / axis.stride);
    }
    return p;
  }
};

inline std::array<WindowSteps, 3> AxesOf(const std::array<PhaseSteps, 3>& phase) {
  return {phase[0].steps, phase[1].steps, phase[2].steps};
}

// Sizes of the memory of one thread: row pointers, tap offsets, and a pixel outside of the images.
template <class T>
struct WindowRowsMemory {
  CheckedInt pointers = 0, offsets = 0;
  CheckedInt outside = 0;  // elements; none if no window crosses an edge

  // `rows` is the number of rows that a GEMM reads at once, `channels` that of a pixel.
  static WindowRowsMemory For(int64_t rows, const CheckedInt& taps, int64_t channels) {
    return {CheckedInt(rows) * taps, taps, CheckedInt(channels)};
  }
  CheckedInt bytes() const {
    return WholeLines((pointers + offsets) * CheckedInt(int64_t{sizeof(void*)}) +
                      outside * CheckedInt(int64_t{sizeof(T)}));
  }
};

// Images [n, depth, height, width, channels] and the windows that a convolution reads.
template <class T>
struct WindowSource {
  const T* data = nullptr;
  int64_t channels = 1;
  std::array<WindowSteps, 3> axes;  // with taps
  T padding = T();                  // elements outside of the images
};

// The `source` of RowPointers. Rows are the windows of all images, row by row.
template <class T>
class WindowRows {
 public:
  // Row 0 of the GEMM is window `first_row`. `memory` has sizes.bytes() bytes.
  WindowRows(const WindowSource<T>& source, int64_t first_row, const WindowRowsMemory<T>& sizes,
             std::byte* memory)
      : data_(source.data), channels_(source.channels), axes_(source.axes), first_row_(first_row) {
    pointers_ = reinterpret_cast<const T**>(memory);
    memory += static_cast<size_t>(sizes.pointers.value()) * sizeof(const T*);
    offsets_ = reinterpret_cast<int64_t*>(memory);
    memory += static_cast<size_t>(sizes.offsets.value()) * sizeof(int64_t);
    if (sizes.outside.value() != 0) {
      outside_ = reinterpret_cast<T*>(memory);
      std::fill_n(outside_, sizes.outside.value(), source.padding);
    }
    int64_t* to = offsets_;
    for (int64_t z = 0; z < axes_[0].taps; ++z) {
      for (int64_t y = 0; y < axes_[1].taps; ++y) {
        for (int64_t x = 0; x < axes_[2].taps; ++x) {
          *to++ = Offset(z * axes_[0].step, y * axes_[1].step, x * axes_[2].step);
        }
      }
    }
  }

  // Makes window `row` row 0.
  void StartAt(int64_t row) { first_row_ = row; }
  const T** pointers() const { return pointers_; }
  // Address returned for pixels outside of the images; null without memory for it.
  const T* outside() const { return outside_; }

  // Implements RowPointersFn and QuantizedRowPointersFn; `source` is a WindowRows.
  static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                          const T** pointers) {
    static_cast<const WindowRows*>(source)->Find(first, count, tap, taps, pointers);
  }

 private:
  int64_t Offset(int64_t z, int64_t y, int64_t x) const {
    return ((z * axes_[1].size + y) * axes_[2].size + x) * channels_;
  }

  void Find(size_t first, size_t count, size_t tap, size_t taps, const T** pointers) const {
    const auto& [az, ay, ax] = axes_;
    const int64_t row = first_row_ + static_cast<int64_t>(first);
    int64_t x = row % ax.count, rest = row / ax.count;
    int64_t y = rest % ay.count;
    rest /= ay.count;
    int64_t z = rest % az.count, image = rest / az.count;
    const auto within = [](const WindowSteps& a, int64_t o) {
      return o + a.lowest() >= 0 && o + a.highest() < a.size;
    };
    for (size_t i = 0, run; i < count; i += run) {
      const int64_t z0 = z * az.stride, y0 = y * ay.stride, x0 = x * ax.stride;
      // An offset, not a pointer: the first tap may be outside of the volume.
      const int64_t base =
          image * az.size * Offset(1, 0, 0) + Offset(z0 + az.first, y0 + ay.first, x0 + ax.first);
      const T** to = pointers + i;
      if (within(az, z0) && within(ay, y0) && within(ax, x0)) {
        // Also the next windows of the row that are inside the volume.
        const int64_t more = (ax.size - 1 - ax.highest() - x0) / ax.stride + 1;
        run = std::min(count - i, static_cast<size_t>(std::min(more, ax.count - x)));
        const int64_t step = ax.stride * channels_;
        for (size_t t = 0; t < taps; ++t, to += count) {
          const T* from = data_ + base + offsets_[tap + t];
          for (size_t r = 0; r < run; ++r) to[r] = from + static_cast<int64_t>(r) * step;
        }
      } else {
        run = 1;
        int64_t tx = static_cast<int64_t>(tap) % ax.taps, ty = static_cast<int64_t>(tap) / ax.taps;
        int64_t tz = ty / ay.taps;
        ty %= ay.taps;
        const auto inside = [](const WindowSteps& a, int64_t o, int64_t t) {
          const int64_t at = o + a.first + t * a.step;
          return at >= 0 && at < a.size;
        };
        for (size_t t = 0; t < taps; ++t, to += count) {
          *to = inside(az, z0, tz) && inside(ay, y0, ty) && inside(ax, x0, tx)
                    ? data_ + base + offsets_[tap + t]
                    : outside_;
          if (++tx < ax.taps) continue;
          tx = 0;
          if (++ty < ay.taps) continue;
          ty = 0;
          ++tz;
        }
      }
      x += static_cast<int64_t>(run);
      if (x < ax.count) continue;
      x = 0;
      if (++y < ay.count) continue;
      y = 0;
      if (++z < az.count) continue;
      z = 0;
      ++image;
    }
  }

  const T* data_;  // [n, depth, height, width, channels]
  int64_t channels_;
  std::array<WindowSteps, 3> axes_;
  int64_t first_row_;
  const T** pointers_;
  int64_t* offsets_;
  T* outside_ = nullptr;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_WINDOW_ROWS_H_
