#include "runtime/kernels/conv/conv.h"

#include "runtime/core/budget.h"
#include "runtime/kernels/operands/inside_range.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/conv.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Loads in[0], in[stride], … to the lanes. With stride 2, one element more is read.
template <int kStride>
HWY_INLINE V LoadEvery(const float* HWY_RESTRICT in) {
  const D d;
  if constexpr (kStride == 1) return hn::LoadU(d, in);
  return hn::ConcatEven(d, hn::LoadU(d, in + hn::Lanes(d)), hn::LoadU(d, in));
}
// The same for the first `count` lanes; the others are 0. No other elements are read. 1 <= count,
// and count < lanes unless there is one lane.
template <int kStride>
HWY_INLINE V LoadFirst(const float* HWY_RESTRICT in, size_t count) {
  const D d;
  if constexpr (kStride == 1) return hn::LoadN(d, in, count);
  const size_t lanes = hn::Lanes(d), span = 2 * count - 1;
  const V high = span > lanes ? hn::LoadN(d, in + lanes, span - lanes) : hn::Zero(d);
  return hn::ConcatEven(d, high, hn::LoadN(d, in, span));
}

// A row of the window that is inside the image.
struct WindowRow {
  int64_t at;  // read by the first tap of the row's first result; may be before the image
  const float* weights;
};
constexpr int64_t kMaxRows = 16;

// Accumulates the contribution of `count` rows of the window to results [first, last), starting
// from `bias` if `begins`, else from `out`. All taps are inside the image.
template <int kStride>
HWY_INLINE void AddRows(const ConvGeometry& g, const float* image, const WindowRow* rows,
                        int64_t count, int64_t first, int64_t last, bool begins, float bias,
                        float* HWY_RESTRICT out) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), taps = g.kernel[2];
  const auto add = [&](int64_t x, auto load, V sum) HWY_ATTR {
    for (int64_t r = 0; r < count; ++r) {
      const float* in = image + rows[r].at + x * kStride;
      for (int64_t k = 0; k < taps; ++k, in += g.dilation[2]) {
        sum = hn::MulAdd(hn::Set(d, rows[r].weights[k]), load(in), sum);
      }
    }
    return sum;
  };
  // The last row's last tap has the largest offset.
  const int64_t farthest = rows[count - 1].at + (taps - 1) * g.dilation[2];
  const auto is_inside = [&](int64_t x) {
    return kStride == 1 || farthest + x * kStride + 2 * lanes <= g.plane();
  };
  int64_t x = first;
  for (; x + lanes <= last && is_inside(x); x += lanes) {
    const V start = begins ? hn::Set(d, bias) : hn::LoadU(d, out + x);
    hn::StoreU(
        add(x, [](const float* in) HWY_ATTR { return LoadEvery<kStride>(in); }, start), d, out + x);
  }
  while (x < last) {
    const int64_t most = kStride == 1 ? lanes : HWY_MAX(lanes - 1, int64_t{1});
    const auto n = static_cast<size_t>(HWY_MIN(most, last - x));
    const V start = begins ? hn::Set(d, bias) : hn::LoadN(d, out + x, n);
    hn::StoreN(add(
                   x, [n](const float* in) HWY_ATTR { return LoadFirst<kStride>(in, n); }, start),
               d, out + x, n);
    x += static_cast<int64_t>(n);
  }
}

// Same as AddRows, for any stride and for windows that cross an edge.
HWY_INLINE void AddRowsAtEdge(const ConvGeometry& g, const float* image, const WindowRow* rows,
                              int64_t count, int64_t first, int64_t last, bool begins, float bias,
                              float* out) {
  for (int64_t x = first; x < last; ++x) {
    float sum = begins ? bias : out[x];
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t k = 0; k < g.kernel[2]; ++k) {
        const int64_t at = x * g.stride[2] + g.shift(2, k);
        if (at < 0 || at >= g.size[2]) continue;
        sum += rows[r].weights[k] * image[rows[r].at + at - g.shift(2, 0)];
      }
    }
    out[x] = sum;
  }
}

// Computes a row of results of a plane at depth z and height y.
HWY_INLINE void Row(const ConvGeometry& g, const float* image, const float* weight, float bias,
                    int64_t z, int64_t y, float* HWY_RESTRICT out) {
  const int64_t width = g.out[2];
  // Results for which all taps of a row are inside.
  const int64_t last_shift = g.shift(2, g.kernel[2] - 1);
  const int64_t first = Inside(g.stride[2], g.shift(2, 0), g.size[2], width).first;
  const int64_t last = HWY_MAX(first, Inside(g.stride[2], last_shift, g.size[2], width).last);
  bool begins = true;
  WindowRow rows[kMaxRows];
  int64_t count = 0;
  const auto add = [&]() HWY_ATTR {
    AddRowsAtEdge(g, image, rows, count, 0, first, begins, bias, out);
    if (count != 0 && g.stride[2] == 1) {
      AddRows<1>(g, image, rows, count, first, last, begins, bias, out);
    } else if (count != 0 && g.stride[2] == 2) {
      AddRows<2>(g, image, rows, count, first, last, begins, bias, out);
    } else {
      AddRowsAtEdge(g, image, rows, count, first, last, begins, bias, out);
    }
    AddRowsAtEdge(g, image, rows, count, last, width, begins, bias, out);
    begins = false;
    count = 0;
  };
  for (int64_t kz = 0; kz < g.kernel[0]; ++kz) {
    const int64_t in_z = z * g.stride[0] + g.shift(0, kz);
    if (in_z < 0 || in_z >= g.size[0]) continue;
    for (int64_t ky = 0; ky < g.kernel[1]; ++ky) {
      const int64_t in_y = y * g.stride[1] + g.shift(1, ky);
      if (in_y < 0 || in_y >= g.size[1]) continue;
      rows[count++] = {(in_z * g.size[1] + in_y) * g.size[2] + g.shift(2, 0),
                       weight + (kz * g.kernel[1] + ky) * g.kernel[2]};
      if (count == kMaxRows) add();
    }
  }
  if (count != 0 || begins) add();
}

void DepthwisePlaneF32Impl(const ConvGeometry& g, const float* image, const float* weight,
                           float bias, float* out) {
  Budget::Pace pace;
  for (int64_t z = 0; z < g.out[0]; ++z) {
    for (int64_t y = 0; y < g.out[1]; ++y, out += g.out[2]) {
      if (pace.Stop(g.out[2] * g.taps())) return;
      Row(g, image, weight, bias, z, y, out);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(DepthwisePlaneF32Impl);
void DepthwisePlaneF32(const ConvGeometry& g, const float* image, const float* weight, float bias,
                       float* out) {
  HWY_DYNAMIC_DISPATCH(DepthwisePlaneF32Impl)(g, image, weight, bias, out);
}

}  // namespace belay
#endif  // HWY_ONCE
