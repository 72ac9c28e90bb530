// Combination of vector functions that are accurate on a domain with the C library outside of it. Each
// lane is selected separately: a result must not depend on neighboring lanes.
//
// Included once per target inside foreach_target; see hwy/foreach_target.h.
#if defined(BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
#undef BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns y for the lanes of `kept`, and exact(i) for each other lane i.
template <class D, class V, class M, class Exact>
HWY_INLINE V ReplaceLanes(D d, V y, M kept, const Exact& exact) {
  HWY_ALIGN hn::TFromD<D> out[hn::MaxLanes(d)];
  uint8_t bits[HWY_MAX(size_t{8}, hn::MaxLanes(d) / 8)] = {};
  hn::StoreMaskBits(d, kept, bits);
  hn::Store(y, d, out);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if ((bits[i / 8] >> i % 8 & 1) == 0) out[i] = exact(i);
  }
  return hn::Load(d, out);
}

// Returns y for lanes in the domain, lowest <= |x| <= highest, and exact(x) for the other lanes.
// `y` is the vector function's result for x.
template <class D, class V>
HWY_INLINE V InDomain(D d, V x, V y, float lowest, float highest, float (*exact)(float)) {
  const V size = hn::Abs(x);
  const auto inside = hn::And(hn::Ge(size, hn::Set(d, lowest)), hn::Le(size, hn::Set(d, highest)));
  if (HWY_LIKELY(hn::AllTrue(d, inside))) return y;
  HWY_ALIGN float in[hn::MaxLanes(d)];
  hn::Store(x, d, in);
  return ReplaceLanes(d, y, inside, [&](size_t i) { return exact(in[i]); });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
