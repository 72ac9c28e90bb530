#include "runtime/kernels/element_copy/add_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/element_copy/add_row.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

void AddRowImpl(const float* HWY_RESTRICT row, int64_t count, int64_t step,
                float* HWY_RESTRICT sums) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) sums[i] += row[i];
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i * step] += row[i];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(AddRowImpl);
void AddRow(const float* row, int64_t count, int64_t step, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddRowImpl)(row, count, step, sums);
}

}  // namespace belay
#endif  // HWY_ONCE
