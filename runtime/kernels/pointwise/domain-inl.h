// Combination of vector functions that are accurate on a domain with the C library outside of it.
//
// Included once per target inside foreach_target; see hwy/foreach_target.h.
#if defined(BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
#undef BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns y for lanes in the domain, lowest <= |x| <= highest, and exact(x) for the other lanes.
// `y` is the vector function's result for x. Each lane is selected separately: a result must not
// depend on neighboring lanes. Precondition: y is a number in its domain.
template <class D, class V>
HWY_INLINE V InDomain(D d, V x, V y, float lowest, float highest, float (*exact)(float)) {
  const V size = hn::Abs(x);
  const auto inside = hn::And(hn::Ge(size, hn::Set(d, lowest)), hn::Le(size, hn::Set(d, highest)));
  if (HWY_LIKELY(hn::AllTrue(d, inside))) return y;
  HWY_ALIGN float in[hn::MaxLanes(d)], out[hn::MaxLanes(d)];
  hn::Store(x, d, in);
  hn::Store(hn::IfThenElse(inside, y, hn::Set(d, std::numeric_limits<float>::quiet_NaN())), d, out);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (std::isnan(out[i])) out[i] = exact(in[i]);
  }
  return hn::Load(d, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif  // BELAY_RUNTIME_KERNELS_POINTWISE_DOMAIN_INL_H_
