// Indirection buffers of convolutions over volumes, channels last. Images are volumes of depth 1.
#ifndef BELAY_BACKENDS_CPU_KERNELS_WINDOW_ROWS_H_
#define BELAY_BACKENDS_CPU_KERNELS_WINDOW_ROWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/convolution_calls.h"
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

// Sizes of the memory of one thread: row pointers, tap offsets and a pixel of zeros.
struct WindowRowsMemory {
  CheckedInt pointers, offsets, zeros;

  // `rows` is the number of rows that a GEMM reads at once, `channels` that of a pixel.
  static WindowRowsMemory For(int64_t rows, const CheckedInt& taps, int64_t channels) {
    return {CheckedInt(rows) * taps, taps, CheckedInt(channels)};
  }
  CheckedInt bytes() const {
    constexpr int64_t kLine = 64;
    const CheckedInt all = pointers * CheckedInt(int64_t{sizeof(const float*)}) +
                           offsets * CheckedInt(int64_t{sizeof(int64_t)}) +
                           zeros * CheckedInt(int64_t{sizeof(float)});
    return FloorDiv(all + CheckedInt(kLine - 1), CheckedInt(kLine)) * CheckedInt(kLine);
  }
};

// The `source` of RowPointers. Rows are the windows of all images, row by row.
class WindowRows {
 public:
  // Row 0 of the GEMM is window `first_row`. `memory` has sizes.bytes() bytes. Precondition: all axes
  // have taps.
  WindowRows(const float* data, int64_t channels, const std::array<WindowSteps, 3>& axes,
             int64_t first_row, const WindowRowsMemory& sizes, std::byte* memory)
      : data_(data), channels_(channels), axes_(axes), first_row_(first_row) {
    pointers_ = reinterpret_cast<const float**>(memory);
    memory += static_cast<size_t>(sizes.pointers.value()) * sizeof(const float*);
    offsets_ = reinterpret_cast<int64_t*>(memory);
    memory += static_cast<size_t>(sizes.offsets.value()) * sizeof(int64_t);
    zeros_ = reinterpret_cast<float*>(memory);
    std::fill_n(zeros_, sizes.zeros.value(), 0.0f);
    int64_t* to = offsets_;
    for (int64_t z = 0; z < axes[0].taps; ++z) {
      for (int64_t y = 0; y < axes[1].taps; ++y) {
        for (int64_t x = 0; x < axes[2].taps; ++x) {
          *to++ = Offset(z * axes[0].step, y * axes[1].step, x * axes[2].step);
        }
      }
    }
  }

  // Makes window `row` row 0.
  void StartAt(int64_t row) { first_row_ = row; }
  const float** pointers() const { return pointers_; }
  const float* zeros() const { return zeros_; }

  // Implements RowPointersFn; `source` is a WindowRows.
  static void RowPointers(const void* source, size_t first, size_t count, size_t tap, size_t taps,
                          const float** pointers) {
    static_cast<const WindowRows*>(source)->Find(first, count, tap, taps, pointers);
  }

 private:
  int64_t Offset(int64_t z, int64_t y, int64_t x) const {
    return ((z * axes_[1].size + y) * axes_[2].size + x) * channels_;
  }

  void Find(size_t first, size_t count, size_t tap, size_t taps, const float** pointers) const {
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
      const float** to = pointers + i;
      if (within(az, z0) && within(ay, y0) && within(ax, x0)) {
        // Also the next windows of the row that are inside the volume.
        const int64_t more = (ax.size - 1 - ax.highest() - x0) / ax.stride + 1;
        run = std::min(count - i, static_cast<size_t>(std::min(more, ax.count - x)));
        const int64_t step = ax.stride * channels_;
        for (size_t t = 0; t < taps; ++t, to += count) {
          const float* from = data_ + base + offsets_[tap + t];
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
                    : zeros_;
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

  const float* data_;  // [n, depth, height, width, channels]
  int64_t channels_;
  std::array<WindowSteps, 3> axes_;
  int64_t first_row_;
  const float** pointers_;
  int64_t* offsets_;
  float* zeros_;
};

}  // namespace belay::cpu

#endif  // BELAY_BACKENDS_CPU_KERNELS_WINDOW_ROWS_H_
