#include "runtime/kernels/conv/patch_row.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/kernels/operands/inside_range.h"

namespace belay {

namespace {

// Packs `count` elements of a row of a panel, from result `first` on: those that kernel position
// k[3] reads from the channel `volume`, [depth, height, width]. Elements outside of the volume are
// zeros.
void PackRow(const ConvGeometry& g, const float* volume, const int64_t* k, int64_t first,
             int64_t count, float* panel) {
  const int64_t width = g.out[2];
  const int64_t shift_x = g.shift(2, k[2]);
  const InsideRange inside = Inside(g.stride[2], shift_x, g.size[2], width);
  int64_t x = first % width, y = first / width % g.out[1], z = first / width / g.out[1];
  for (int64_t done = 0; done < count;) {
    const int64_t end = std::min(width, x + count - done);
    float* to = panel + done - x;  // indexed by x
    const int64_t in_z = z * g.stride[0] + g.shift(0, k[0]),
                  in_y = y * g.stride[1] + g.shift(1, k[1]);
    const bool row = in_z >= 0 && in_z < g.size[0] && in_y >= 0 && in_y < g.size[1];
    const int64_t from = row ? std::clamp(inside.first, x, end) : end;
    const int64_t until = row ? std::clamp(inside.last, from, end) : end;
    for (int64_t i = x; i < from; ++i) to[i] = 0;
    if (from < until) {
      const float* in = volume + (in_z * g.size[1] + in_y) * g.size[2];
      if (g.stride[2] == 1) {
        std::memcpy(to + from, in + from + shift_x,
                    static_cast<size_t>(until - from) * sizeof(float));
      } else {
        for (int64_t i = from; i < until; ++i) to[i] = in[i * g.stride[2] + shift_x];
      }
    }
    for (int64_t i = until; i < end; ++i) to[i] = 0;
    done += end - x;
    x = 0;
    if (++y == g.out[1]) {
      y = 0;
      ++z;
    }
  }
}

}  // namespace

void PackPatches(const void* source, size_t first, size_t count, size_t stride, float* panel) {
  const PatchSource& patches = *static_cast<const PatchSource*>(source);
  const ConvGeometry& g = *patches.g;
  const int64_t channels = g.group_channels();
  const int64_t channel_step = patches.channels_innermost ? 1 : g.taps(),
                tap_step = patches.channels_innermost ? channels : 1;
  int64_t k[3];
  for (int64_t c = 0; c < channels; ++c) {
    int64_t row = c * channel_step;
    for (k[0] = 0; k[0] < g.kernel[0]; ++k[0]) {
      for (k[1] = 0; k[1] < g.kernel[1]; ++k[1]) {
        for (k[2] = 0; k[2] < g.kernel[2]; ++k[2], row += tap_step) {
          PackRow(g, patches.image + c * g.plane(), k, static_cast<int64_t>(first),
                  static_cast<int64_t>(count), panel + row * static_cast<int64_t>(stride));
        }
      }
    }
  }
}

}  // namespace belay
