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

void BlendImageRowImpl(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float row_share,
                       size_t width, const BlendedColumns& columns, float* HWY_RESTRICT blend,
                       float* HWY_RESTRICT out) {
  const float* HWY_RESTRICT line = b == nullptr ? a : blend;
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  const auto mix = [&](V x, V y, V share) HWY_ATTR {
    return hn::Add(hn::Mul(hn::Sub(hn::Set(d, 1.0f), share), x), hn::Mul(share, y));
  };
  V row = hn::Zero(d);
  if (b == nullptr && width <= lanes) row = hn::LoadN(d, a, width);
  for (size_t i = 0; i < width && b != nullptr; i += lanes) {
    const size_t count = HWY_MIN(lanes, width - i);
    row = mix(hn::LoadN(d, a + i, count), hn::LoadN(d, b + i, count), hn::Set(d, row_share));
    if (width > lanes) hn::StoreN(row, d, blend + i, count);
  }
  for (size_t i = 0; i < columns.n; i += lanes) {
    const size_t count = HWY_MIN(lanes, columns.n - i);
    const auto first = hn::LoadN(di, columns.first + i, count),
               second = hn::LoadN(di, columns.second + i, count);
    const V share = hn::LoadN(d, columns.share + i, count);
    if (width <= lanes) {  // the row is one vector
      const V x = hn::TableLookupLanes(row, hn::IndicesFromVec(d, first)),
              y = hn::TableLookupLanes(row, hn::IndicesFromVec(d, second));
      hn::StoreN(mix(x, y, share), d, out + i, count);
    } else {
      const V x = hn::GatherIndex(d, line, first), y = hn::GatherIndex(d, line, second);
      hn::StoreN(mix(x, y, share), d, out + i, count);
    }
  }
}

void AddScaledRowImpl(const float* HWY_RESTRICT row, float weight, size_t n,
                      float* HWY_RESTRICT sums) {
  for (size_t i = 0; i < n; ++i) sums[i] += weight * row[i];
}

void BlendWindowsImpl(const float* HWY_RESTRICT row, const int32_t* HWY_RESTRICT first,
                      const int32_t* HWY_RESTRICT counts, const float* HWY_RESTRICT weights,
                      size_t n, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto at = hn::LoadU(di, first + i), count = hn::LoadU(di, counts + i);
    auto sum = hn::Zero(d);
    for (int32_t k = 0;; ++k) {
      const auto step = hn::Set(di, k);
      const auto inside = hn::Lt(step, count);
      if (hn::AllFalse(di, inside)) break;
      // Where a window has ended, 0 times the weight 0 is added.
      const auto pixel =
          hn::MaskedGatherIndex(hn::RebindMask(d, inside), d, row, hn::Add(at, step));
      sum = hn::MulAdd(hn::LoadU(d, weights + static_cast<size_t>(k) * n + i), pixel, sum);
    }
    hn::StoreU(sum, d, out + i);
  }
  for (; i < n; ++i) {
    float sum = 0;
    for (int32_t k = 0; k < counts[i]; ++k) {
      sum += weights[static_cast<size_t>(k) * n + i] * row[first[i] + k];
    }
    out[i] = sum;
  }
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

template <class T>
HWY_INLINE void Repeat(const T* HWY_RESTRICT row, size_t n, T* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, row + i);
    hn::StoreU(hn::InterleaveWholeLower(d, v, v), d, out + 2 * i);
    hn::StoreU(hn::InterleaveWholeUpper(d, v, v), d, out + 2 * i + lanes);
  }
  for (; i < n; ++i) out[2 * i] = out[2 * i + 1] = row[i];
}
void RepeatEachImpl(const void* row, size_t n, size_t bytes, void* out) {
  const auto repeat = [&]<class T>(T)
                          HWY_ATTR { Repeat(static_cast<const T*>(row), n, static_cast<T*>(out)); };
  if (bytes == 1) return repeat(uint8_t{});
  return bytes == 2 ? repeat(uint16_t{}) : repeat(uint32_t{});
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(BlendRowsImpl);
HWY_EXPORT(BlendImageRowImpl);
HWY_EXPORT(BlendPixelsImpl);
HWY_EXPORT(AddScaledRowImpl);
HWY_EXPORT(BlendWindowsImpl);
HWY_EXPORT(RepeatEachImpl);
void RepeatEach(const void* row, size_t n, size_t bytes, void* out) {
  HWY_DYNAMIC_DISPATCH(RepeatEachImpl)(row, n, bytes, out);
}
void AddScaledRow(const float* row, float weight, size_t n, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddScaledRowImpl)(row, weight, n, sums);
}
void BlendWindows(const float* row, const int32_t* first, const int32_t* counts,
                  const float* weights, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendWindowsImpl)(row, first, counts, weights, n, out);
}
void BlendRows(const float* a, const float* b, float share, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendRowsImpl)(a, b, share, n, out);
}
void BlendImageRow(const float* a, const float* b, float row_share, size_t width,
                   const BlendedColumns& columns, float* blend, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendImageRowImpl)(a, b, row_share, width, columns, blend, out);
}
void BlendPixels(const float* row, const int32_t* first, const int32_t* second, const float* share,
                 size_t n, size_t channels, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendPixelsImpl)(row, first, second, share, n, channels, out);
}

}  // namespace belay
#endif  // HWY_ONCE
