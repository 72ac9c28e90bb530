// Selection of the code for Zen 4 in files compiled with COPTS_OF_BFLOAT16_PRODUCTS.
//
// Include after hwy/foreach_target.h.
#ifndef BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_DISPATCH_H_
#define BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_DISPATCH_H_

#include "hwy/highway.h"
#include "runtime/kernels/supported_targets.h"

// Highway offers AVX3_ZEN4 to AMD's CPUs only. Sapphire Rapids has its instructions, and code for
// its own target would be the same.
#if HWY_TARGETS & HWY_AVX3_ZEN4
namespace belay {

inline bool UsesZen4Code() { return (SupportedTargets() & HWY_AVX3_SPR) != 0; }

}  // namespace belay
#define BELAY_BFLOAT16_DISPATCH(function) \
  (UsesZen4Code() ? &N_AVX3_ZEN4::function : HWY_DYNAMIC_POINTER(function))
#else
#define BELAY_BFLOAT16_DISPATCH(function) (HWY_DYNAMIC_POINTER(function))
#endif

#endif  // BELAY_RUNTIME_KERNELS_PACKED_BFLOAT16_DISPATCH_H_
