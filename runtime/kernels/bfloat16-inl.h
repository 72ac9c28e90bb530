// Rounding of vectors of floats to bfloat16.
//
// Included once per target inside foreach_target; see hwy/foreach_target.h.
#if defined(BELAY_RUNTIME_KERNELS_BFLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_BFLOAT16_INL_H_
#undef BELAY_RUNTIME_KERNELS_BFLOAT16_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_BFLOAT16_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// Rounds floats, given as bits, to the nearest bfloat16, ties to even: its bits are the upper halves of
// the results, whose lower halves have any value. Precondition: no NaN.
template <class DU, class VU>
HWY_INLINE VU RoundToBFloat16(DU du, VU bits) {
  namespace hn = hwy::HWY_NAMESPACE;
  const VU odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  return hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
