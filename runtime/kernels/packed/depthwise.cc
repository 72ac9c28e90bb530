#include "runtime/kernels/packed/depthwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/packed/depthwise.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/core/flush_subnormals.h"
#include "runtime/kernels/packed/depthwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

void DepthwiseRowsImpl(const DepthwiseArgs& g, int64_t first, int64_t last) {
  DepthwiseRowsOn(g, first, last);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(DepthwiseRowsImpl);
void DepthwiseRows(const DepthwiseArgs& args, int64_t first, int64_t last) {
  const FlushSubnormals flush;
  HWY_DYNAMIC_DISPATCH(DepthwiseRowsImpl)(args, first, last);
}

}  // namespace belay
#endif  // HWY_ONCE
