#include "runtime/kernels/scan/log_scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/scan/log_scan.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void LogScanStepImpl(const double* HWY_RESTRICT in, size_t n, double* HWY_RESTRICT most,
                     double* HWY_RESTRICT sum, double* HWY_RESTRICT out) {
  const hn::ScalableTag<double> d;
  const auto one = hn::Set(d, 1.0);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t count = HWY_MIN(hn::Lanes(d), n - i);
    const auto x = hn::LoadN(d, in + i, count), m = hn::LoadN(d, most + i, count);
    const auto s = hn::LoadNOr(one, d, sum + i, count);
    const auto larger = hn::Gt(x, m), equal = hn::Eq(x, m);  // equal: also infinities
    const auto distance = hn::IfThenZeroElse(equal, hn::Abs(hn::Sub(x, m)));
    const auto factor = hn::Exp(d, hn::Neg(distance));  // 0 for NaN
    const auto total = hn::IfThenElse(larger, hn::MulAdd(s, factor, one), hn::Add(s, factor));
    const auto highest = hn::IfThenElse(hn::Or(larger, hn::IsNaN(x)), x, m);
    hn::StoreN(highest, d, most + i, count);
    hn::StoreN(total, d, sum + i, count);
    hn::StoreN(hn::Add(highest, hn::Log(d, total)), d, out + i, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(LogScanStepImpl);
void LogScanStep(const double* in, size_t n, double* most, double* sum, double* out) {
  HWY_DYNAMIC_DISPATCH(LogScanStepImpl)(in, n, most, sum, out);
}

}  // namespace belay
#endif  // HWY_ONCE
