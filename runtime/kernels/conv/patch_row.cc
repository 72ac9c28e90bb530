#include "runtime/kernels/conv/patch_row.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/kernels/operands/inside_range.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/patch_row.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether masked loads read only the lanes of their mask.
constexpr bool kHasMaskedLoads = HWY_TARGET <= HWY_AVX2;

// Columns of a panel that are `columns` neighboring results of one row, for all channels: lanes
// [from, until) read elements in[channel * plane + lane * step], others are zeros.
struct Segment {
  int64_t from = 0, until = 0, columns = 0;
  const float* in = nullptr;  // of lane 0; may be outside of the volume
  int64_t plane = 0, step = 1;
  float* to = nullptr;
  int64_t channels = 0, channel_step = 0;  // of `to`
};

HWY_INLINE void PackElements(const Segment& s) {
  for (int64_t c = 0; c < s.channels; ++c) {
    const float* const in = s.in + c * s.plane;
    float* const to = s.to + c * s.channel_step;
    for (int64_t i = 0; i < s.from; ++i) to[i] = 0;
    if (s.step == 1) {
      std::memcpy(to + s.from, in + s.from, static_cast<size_t>(s.until - s.from) * sizeof(float));
    } else {
      for (int64_t i = s.from; i < s.until; ++i) to[i] = in[i * s.step];
    }
    for (int64_t i = s.until; i < s.columns; ++i) to[i] = 0;
  }
}

using TagF32 = hn::CappedTag<float, 16>;

// Mask of lanes i with first <= i + before < last.
HWY_INLINE hn::Mask<TagF32> LanesBetween(int64_t first, int64_t last, int64_t before) {
  const TagF32 d;
  const auto lanes_below = [&](int64_t end) HWY_ATTR {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    return hn::FirstN(d, static_cast<size_t>(std::clamp(end - before, int64_t{0}, lanes)));
  };
  return hn::AndNot(lanes_below(first), lanes_below(last));
}

// Packs at most a vector of columns. Writes `room` columns, at least s.columns.
template <int kStep>
HWY_INLINE void PackVector(const Segment& s, int64_t room) {
  const TagF32 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t first = s.from * kStep,
                last = s.until == s.from ? first : (s.until - 1) * kStep + 1;
  const auto mask = LanesBetween(first, last, 0), next = LanesBetween(first, last, lanes);
  const float* HWY_RESTRICT in = s.in;
  float* HWY_RESTRICT to = s.to;
  const auto pack = [&](auto store) HWY_ATTR {
    for (int64_t c = 0; c < s.channels; ++c, in += s.plane, to += s.channel_step) {
      auto v = hn::MaskedLoad(mask, d, in);
      if constexpr (kStep == 2) v = hn::ConcatEven(d, hn::MaskedLoad(next, d, in + lanes), v);
      store(v);
    }
  };
  if (room >= lanes) {
    pack([&](auto v) HWY_ATTR { hn::StoreU(v, d, to); });
  } else {
    pack([&](auto v) HWY_ATTR { hn::StoreN(v, d, to, static_cast<size_t>(room)); });
  }
}

// Packs a segment. Writes at most `room` columns, at least s.columns.
HWY_INLINE void PackSegment(Segment s, int64_t room) {
  if constexpr (kHasMaskedLoads) {
    if (s.step <= 2) {
      const int64_t lanes = static_cast<int64_t>(hn::Lanes(TagF32()));
      const int64_t from = s.from, until = s.until, end = s.columns;
      for (int64_t x = 0; x < end; x += lanes, room -= lanes) {
        s.columns = HWY_MIN(lanes, end - x);
        s.from = std::clamp(from - x, int64_t{0}, s.columns);
        s.until = std::clamp(until - x, s.from, s.columns);
        s.step == 1 ? PackVector<1>(s, room) : PackVector<2>(s, room);
        s.in += lanes * s.step;
        s.to += lanes;
      }
      return;
    }
  }
  PackElements(s);
}

// Positions are computed once per tap, for all channels.
void PackPatchesImpl(const void* source, size_t first, size_t count, size_t stride, float* panel) {
  const PatchSource& patches = *static_cast<const PatchSource*>(source);
  const ConvGeometry& g = *patches.g;
  const int64_t channels = g.group_channels(), step = g.stride[2];
  const int64_t columns = static_cast<int64_t>(stride), width = g.out[2];
  Segment s = {.plane = g.plane(), .step = step, .channels = channels};
  s.channel_step = (patches.channels_innermost ? 1 : g.taps()) * columns;
  const int64_t tap_step = (patches.channels_innermost ? channels : 1) * columns;
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
          s.columns = std::min(width - x, static_cast<int64_t>(count) - done);
          const int64_t in_z = z * g.stride[0] + g.shift(0, k[0]),
                        in_y = y * g.stride[1] + g.shift(1, k[1]);
          const bool row = in_z >= 0 && in_z < g.size[0] && in_y >= 0 && in_y < g.size[1];
          s.from = row ? std::clamp(inside.first - x, int64_t{0}, s.columns) : 0;
          s.until = row ? std::clamp(inside.last - x, s.from, s.columns) : 0;
          // Without elements inside, the position may be anywhere.
          s.in = patches.image;
          if (s.from < s.until) s.in += (in_z * g.size[1] + in_y) * g.size[2] + x * step + shift_x;
          s.to = panel + done;
          PackSegment(s, columns - done);
          done += s.columns;
          if (++y == g.out[1]) {
            y = 0;
            ++z;
          }
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(PackPatchesImpl);

void PackPatches(const void* source, size_t first, size_t count, size_t stride, float* panel) {
  HWY_DYNAMIC_DISPATCH(PackPatchesImpl)(source, first, count, stride, panel);
}

}  // namespace belay
#endif  // HWY_ONCE
