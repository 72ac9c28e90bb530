#include "runtime/kernels/conv/patch_row.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/kernels/operands/inside_range.h"

namespace belay {

void PackPatchRow(const ConvGeometry& g, const float* volume, const int64_t* k, int64_t first,
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

}  // namespace belay
