#include "runtime/kernels/resize/resize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/resize/resize.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void BlendRowsImpl(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float share, size_t n,
                   float* HWY_RESTRICT out) {
  for (size_t i = 0; i < n; ++i) out[i] = (1 - share) * a[i] + share * b[i];
}

void BlendColumnsImpl(const float* HWY_RESTRICT row, const int32_t* HWY_RESTRICT first,
                      const int32_t* HWY_RESTRICT second, const float* HWY_RESTRICT share, size_t n,
                      float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto s = hn::LoadU(d, share + i);
    const auto a = hn::GatherIndex(d, row, hn::LoadU(di, first + i)),
               b = hn::GatherIndex(d, row, hn::LoadU(di, second + i));
    hn::StoreU(hn::Add(hn::Mul(hn::Sub(hn::Set(d, 1.0f), s), a), hn::Mul(s, b)), d, out + i);
  }
  for (; i < n; ++i) out[i] = (1 - share[i]) * row[first[i]] + share[i] * row[second[i]];
}

void BlendPixelsImpl(const float* HWY_RESTRICT row, const int32_t* HWY_RESTRICT first,
                     const int32_t* HWY_RESTRICT second, const float* HWY_RESTRICT share, size_t n,
                     size_t channels, float* HWY_RESTRICT out) {
  for (size_t x = 0; x < n; ++x) {
    const float* HWY_RESTRICT a = row + static_cast<size_t>(first[x]) * channels;
    const float* HWY_RESTRICT b = row + static_cast<size_t>(second[x]) * channels;
    float* HWY_RESTRICT to = out + x * channels;
    const float s = share[x], rest = 1 - s;
    for (size_t c = 0; c < channels; ++c) to[c] = rest * a[c] + s * b[c];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(BlendRowsImpl);
HWY_EXPORT(BlendColumnsImpl);
HWY_EXPORT(BlendPixelsImpl);
void BlendRows(const float* a, const float* b, float share, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendRowsImpl)(a, b, share, n, out);
}
void BlendColumns(const float* row, const int32_t* first, const int32_t* second, const float* share,
                  size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendColumnsImpl)(row, first, second, share, n, out);
}
void BlendPixels(const float* row, const int32_t* first, const int32_t* second, const float* share,
                 size_t n, size_t channels, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendPixelsImpl)(row, first, second, share, n, channels, out);
}

}  // namespace belay
#endif  // HWY_ONCE
