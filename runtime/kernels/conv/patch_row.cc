#include "runtime/kernels/conv/patch_row.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/kernels/operands/inside_range.h"

namespace belay {

namespace {

// Columns [x, end) of a panel that are results of one row. Those that read inside of the volume,
// [from, until), are at `offset` from the channel's first element, g.stride[2] apart; others are zeros.
struct Segment {
  int64_t x = 0, from = 0, until = 0, end = 0;
  int64_t offset = 0;
};

// Packs the segment of one channel.
void PackSegment(const Segment& s, const float* in, int64_t step, float* to) {
  constexpr int64_t kPanel = 32;  // columns of most segments
  for (int64_t i = s.x; i < s.from; ++i) *to++ = 0;
  const int64_t n = s.until - s.from;
  in += s.offset;
  if (step != 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = in[i * step];
  } else if (n == kPanel) {
    std::memcpy(to, in, kPanel * sizeof(float));
  } else {
    std::memcpy(to, in, static_cast<size_t>(n) * sizeof(float));
  }
  for (int64_t i = n; i < s.end - s.from; ++i) to[i] = 0;
}

}  // namespace

// Positions are computed once per tap, for all channels.
void PackPatches(const void* source, size_t first, size_t count, size_t stride, float* panel) {
  const PatchSource& patches = *static_cast<const PatchSource*>(source);
  const ConvGeometry& g = *patches.g;
  const int64_t channels = g.group_channels(), plane = g.plane(), step = g.stride[2];
  const int64_t columns = static_cast<int64_t>(stride), width = g.out[2];
  const int64_t channel_step = (patches.channels_innermost ? 1 : g.taps()) * columns,
                tap_step = (patches.channels_innermost ? channels : 1) * columns;
  const auto column = static_cast<int64_t>(first);
  const int64_t first_x = column % width, first_y = column / width % g.out[1],
                first_z = column / width / g.out[1];
  int64_t k[3];
  for (k[0] = 0; k[0] < g.kernel[0]; ++k[0]) {
    for (k[1] = 0; k[1] < g.kernel[1]; ++k[1]) {
      for (k[2] = 0; k[2] < g.kernel[2]; ++k[2], panel += tap_step) {
        const int64_t shift_x = g.shift(2, k[2]);
        const InsideRange inside = Inside(step, shift_x, g.size[2], width);
        int64_t x = first_x, y = first_y, z = first_z;
        for (int64_t done = 0; done < static_cast<int64_t>(count); x = 0) {
          Segment s;
          s.x = x;
          s.end = std::min(width, x + static_cast<int64_t>(count) - done);
          const int64_t in_z = z * g.stride[0] + g.shift(0, k[0]),
                        in_y = y * g.stride[1] + g.shift(1, k[1]);
          const bool row = in_z >= 0 && in_z < g.size[0] && in_y >= 0 && in_y < g.size[1];
          s.from = row ? std::clamp(inside.first, x, s.end) : s.end;
          s.until = row ? std::clamp(inside.last, s.from, s.end) : s.end;
          // Without elements inside, the position may be anywhere.
          if (s.from < s.until) {
            s.offset = (in_z * g.size[1] + in_y) * g.size[2] + s.from * step + shift_x;
          }
          for (int64_t c = 0; c < channels; ++c) {
            PackSegment(s, patches.image + c * plane, step, panel + c * channel_step + done);
          }
          done += s.end - x;
          if (++y == g.out[1]) {
            y = 0;
            ++z;
          }
        }
      }
    }
  }
}

}  // namespace belay
