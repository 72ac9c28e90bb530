#include "runtime/kernels/conv/conv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/conv.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void AccumulateRowF32Impl(const float* HWY_RESTRICT in, int64_t width, float w, int64_t stride,
                          int64_t shift, int64_t first, int64_t last, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto weight = hn::Set(d, w);
  int64_t x = first;
  if (stride == 1) {
    for (; x + lanes <= last; x += lanes) {
      hn::StoreU(hn::MulAdd(weight, hn::LoadU(d, in + x + shift), hn::LoadU(d, out + x)), d,
                 out + x);
    }
  } else if (stride == 2) {
    // Reads pairs, also the second half of the last one: only while that lies in the row.
    for (; x + lanes <= last && 2 * (x + lanes) + shift <= width; x += lanes) {
      hn::Vec<decltype(d)> even, odd;
      hn::LoadInterleaved2(d, in + 2 * x + shift, even, odd);
      hn::StoreU(hn::MulAdd(weight, even, hn::LoadU(d, out + x)), d, out + x);
    }
  }
  for (; x < last; ++x) out[x] += w * in[x * stride + shift];
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(AccumulateRowF32Impl);
void AccumulateRowF32(const float* in, int64_t width, float w, int64_t stride, int64_t shift,
                      int64_t first, int64_t last, float* out) {
  HWY_DYNAMIC_DISPATCH(AccumulateRowF32Impl)(in, width, w, stride, shift, first, last, out);
}

}  // namespace belay
#endif  // HWY_ONCE
