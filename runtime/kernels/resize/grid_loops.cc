#include <cmath>

#include "runtime/kernels/resize/grid_sample.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/resize/grid_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void LinearTapsImpl(const double* HWY_RESTRICT at, int64_t count, int64_t size, GridTaps& taps) {
  const double end = static_cast<double>(size);
  int32_t *HWY_RESTRICT first = taps.index[0], *HWY_RESTRICT second = taps.index[1];
  float *HWY_RESTRICT before = taps.weight[0], *HWY_RESTRICT after = taps.weight[1];
  for (int64_t p = 0; p < count; ++p) {
    const double low = std::floor(at[p]), high = low + 1, share = at[p] - low;
    // Bounded first: conversion of other numbers is undefined.
    first[p] = static_cast<int32_t>(low >= 0 && low < end ? low : -1.0);
    second[p] = static_cast<int32_t>(high >= 0 && high < end ? high : -1.0);
    before[p] = static_cast<float>(1 - share);
    after[p] = static_cast<float>(share);
  }
}

void NearestTapsImpl(const double* HWY_RESTRICT at, int64_t count, int64_t size, GridTaps& taps) {
  const double end = static_cast<double>(size);
  int32_t* HWY_RESTRICT index = taps.index[0];
  float* HWY_RESTRICT weight = taps.weight[0];
  for (int64_t p = 0; p < count; ++p) {
    const double nearest = std::nearbyint(at[p]);
    index[p] = static_cast<int32_t>(nearest >= 0 && nearest < end ? nearest : -1.0);
    weight[p] = 1;
  }
}

void BlendPositionsImpl(const GridNeighbors& at, int neighbors, int64_t count,
                        const float* HWY_RESTRICT image, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, kGridPositions> d;
  const hn::RebindToSigned<decltype(d)> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // The arrays have whole vectors; elements after `count` are ignored.
  alignas(64) float rest[kGridPositions];
  for (int64_t p = 0; p < count; p += lanes) {
    auto sum = hn::Zero(d);
    for (int k = 0; k < neighbors; ++k) {
      const auto offset = hn::LoadU(di, at.offset[k] + p);
      const auto inside = hn::RebindMask(d, hn::Ge(offset, hn::Zero(di)));
      // Highway asserts in debug builds that indices of masked lanes are not negative either.
      const auto index = hn::Max(offset, hn::Zero(di));
      const auto value = hn::MaskedGatherIndex(inside, d, image, index);
      sum = hn::MulAdd(hn::LoadU(d, at.weight[k] + p), value, sum);
    }
    if (p + lanes <= count) {
      hn::StoreU(sum, d, out + p);
    } else {
      hn::StoreU(sum, d, rest);
      for (int64_t i = p; i < count; ++i) out[i] = rest[i - p];
    }
  }
}

// Blends channels [0, kVectors vectors of D) of position p.
template <int kVectors, class D>
HWY_INLINE void BlendVectors(D d, const GridNeighbors& at, int neighbors, int64_t p,
                             const float* HWY_RESTRICT image, float* HWY_RESTRICT out) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto first = hn::Zero(d), second = hn::Zero(d);
  for (int k = 0; k < neighbors; ++k) {
    const int64_t offset = at.offset[k][p];
    const auto weight = hn::Set(d, at.weight[k][p]);
    const auto value = [&](int64_t c) HWY_ATTR {
      return offset < 0 ? hn::Zero(d) : hn::LoadU(d, image + offset + c);
    };
    first = hn::MulAdd(weight, value(0), first);
    if constexpr (kVectors == 2) second = hn::MulAdd(weight, value(lanes), second);
  }
  hn::StoreU(first, d, out);
  if constexpr (kVectors == 2) hn::StoreU(second, d, out + lanes);
}

void BlendPixelsImpl(const GridNeighbors& at, int neighbors, int64_t count,
                     const float* HWY_RESTRICT image, int64_t channels, float* HWY_RESTRICT out,
                     int64_t step) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> few;
  const hn::CappedTag<float, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)),
                few_lanes = static_cast<int64_t>(hn::Lanes(few));
  for (int64_t p = 0; p < count; ++p, out += step) {
    int64_t c = 0;
    for (; c + 2 * lanes <= channels; c += 2 * lanes) {
      BlendVectors<2>(d, at, neighbors, p, image + c, out + c);
    }
    for (; c + lanes <= channels; c += lanes) {
      BlendVectors<1>(d, at, neighbors, p, image + c, out + c);
    }
    for (; c + few_lanes <= channels; c += few_lanes) {
      BlendVectors<1>(few, at, neighbors, p, image + c, out + c);
    }
    for (; c < channels; ++c) BlendVectors<1>(one, at, neighbors, p, image + c, out + c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(LinearTapsImpl);
HWY_EXPORT(NearestTapsImpl);
HWY_EXPORT(BlendPositionsImpl);
HWY_EXPORT(BlendPixelsImpl);
void LinearTaps(const double* at, int64_t count, int64_t size, GridTaps& taps) {
  HWY_DYNAMIC_DISPATCH(LinearTapsImpl)(at, count, size, taps);
}
void NearestTaps(const double* at, int64_t count, int64_t size, GridTaps& taps) {
  HWY_DYNAMIC_DISPATCH(NearestTapsImpl)(at, count, size, taps);
}
void BlendPositions(const GridNeighbors& at, int neighbors, int64_t count, const float* image,
                    float* out) {
  HWY_DYNAMIC_DISPATCH(BlendPositionsImpl)(at, neighbors, count, image, out);
}
void BlendPixels(const GridNeighbors& at, int neighbors, int64_t count, const float* image,
                 int64_t channels, float* out, int64_t step) {
  HWY_DYNAMIC_DISPATCH(BlendPixelsImpl)(at, neighbors, count, image, channels, out, step);
}

}  // namespace belay
#endif  // HWY_ONCE
