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

void BlendChannelsImpl(const GridNeighbors& at, int neighbors, int64_t p,
                       const float* HWY_RESTRICT image, int64_t channels, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    auto sum = hn::Zero(d);
    for (int k = 0; k < neighbors; ++k) {
      const int64_t offset = at.offset[k][p];
      const auto value = offset < 0 ? hn::Zero(d) : hn::LoadU(d, image + offset + c);
      sum = hn::MulAdd(hn::Set(d, at.weight[k][p]), value, sum);
    }
    hn::StoreU(sum, d, out + c);
  }
  const hn::CappedTag<float, 1> one;
  for (; c < channels; ++c) {
    auto sum = hn::Zero(one);
    for (int k = 0; k < neighbors; ++k) {
      const int64_t offset = at.offset[k][p];
      const auto value = hn::Set(one, offset < 0 ? 0.0f : image[offset + c]);
      sum = hn::MulAdd(hn::Set(one, at.weight[k][p]), value, sum);
    }
    hn::StoreU(sum, one, out + c);
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
HWY_EXPORT(BlendChannelsImpl);
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
void BlendChannels(const GridNeighbors& at, int neighbors, int64_t p, const float* image,
                   int64_t channels, float* out) {
  HWY_DYNAMIC_DISPATCH(BlendChannelsImpl)(at, neighbors, p, image, channels, out);
}

}  // namespace belay
#endif  // HWY_ONCE
