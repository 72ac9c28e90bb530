// Epilogue of a row of accumulators in memory. Included once per target inside foreach_target.
#if defined(BELAY_RUNTIME_KERNELS_PACKED_ROW_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_PACKED_ROW_EPILOGUE_INL_H_
#undef BELAY_RUNTIME_KERNELS_PACKED_ROW_EPILOGUE_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_PACKED_ROW_EPILOGUE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/packed/epilogue-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Applies the epilogue to `count` sums of a row and stores them in C. `other` and `bias` belong to
// the first of them, or are null. `sums` is readable up to whole vectors.
template <class D>
HWY_INLINE void FinishRow(D d, const EpilogueF32& e, const float* HWY_RESTRICT sums,
                          const float* bias, const float* other, float* c, size_t count) {
  const size_t lanes = hn::Lanes(d);
  const bool linear = IsLinear(e);
  for (size_t j = 0; j < count; j += lanes) {
    const size_t some = HWY_MIN(lanes, count - j);
    auto y = hn::LoadU(d, sums + j);
    if (bias != nullptr) y = hn::Add(y, hn::LoadN(d, bias + j, some));
    if (other != nullptr && !e.multiply) y = hn::Add(y, hn::LoadN(d, other + j, some));
    if (linear) y = ClampKeepingNaN(d, y, hn::Set(d, e.low), hn::Set(d, e.high));
    hn::StoreN(y, d, c + j, some);
  }
  if (!linear) FinishTile(e, other, c, count, 1, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
