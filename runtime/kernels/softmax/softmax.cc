#include "runtime/kernels/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/softmax/softmax.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>

#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// Returns the maximum of a row without NaN. A row of only NaN gives NaN, to distinguish it from a
// row of -inf. For other rows with NaN, the result is unspecified.
HWY_INLINE float MaxOf(const float* HWY_RESTRICT in, size_t n) {
  const hn::ScalableTag<float> d;
  // If one operand is NaN, x86 returns the second one, Arm the number.
  const auto larger = [&](auto top, auto x) HWY_ATTR {
    const auto either = hn::Max(top, x);
    return HWY_TARGET_IS_NEON ? hn::IfThenElse(hn::IsNaN(x), x, either) : either;
  };
  const size_t lanes = hn::Lanes(d);
  const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto top = lowest;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) top = larger(top, hn::LoadU(d, in + i));
  if (i < n) top = larger(top, hn::LoadNOr(lowest, d, in + i, n - i));
  return hn::ReduceMax(d, top);
}

// Returns the sum of exp(x - top); with kStore, writes the exponentials to `out`.
template <bool kStore>
HWY_INLINE float SumOfExponentials(const float* in, size_t n, float top, float* out) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, top);
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto y = SafeExp(d, hn::Sub(hn::LoadU(d, in + i), offset));
    if (kStore) hn::StoreU(y, d, out + i);
    sum = hn::Add(sum, y);
  }
  if (i < n) {
    const auto y = SafeExp(d, hn::Sub(hn::LoadN(d, in + i, n - i), offset));
    if (kStore) hn::StoreN(y, d, out + i, n - i);
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, n - i), y));
  }
  return hn::ReduceSum(d, sum);
}

void SoftmaxRowF32Impl(const float* in, size_t n, float* out) {
  const float sum = SumOfExponentials<true>(in, n, MaxOf(in, n), out);
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto divisor = hn::Set(d, sum);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Div(hn::LoadU(d, out + i), divisor), d, out + i);
  if (i < n) hn::StoreN(hn::Div(hn::LoadN(d, out + i, n - i), divisor), d, out + i, n - i);
}

// log(sum of exp(x - top)). Each maximal element adds 1. One of them is excluded from the sum and
// added by log1p, which keeps the digits of a sum near 1.
HWY_INLINE float LogOfSum(const float* in, size_t n, float top) {
  if (!std::isfinite(top)) return std::log(SumOfExponentials<false>(in, n, top, nullptr));
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, top);
  auto sum = hn::Zero(d);
  size_t largest = 0;
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    const auto live = hn::FirstN(d, count);
    const auto x = hn::LoadN(d, in + i, count);
    const auto is_top = hn::And(live, hn::Eq(x, offset));
    largest += hn::CountTrue(d, is_top);
    sum =
        hn::Add(sum, hn::IfThenElseZero(hn::AndNot(is_top, live), SafeExp(d, hn::Sub(x, offset))));
  }
  const double others = static_cast<double>(largest) - 1;
  return static_cast<float>(std::log1p(others + static_cast<double>(hn::ReduceSum(d, sum))));
}

void LogSoftmaxRowF32Impl(const float* in, size_t n, float* out) {
  const float top = MaxOf(in, n);
  const float log_sum = LogOfSum(in, n, top);
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto a = hn::Set(d, top), b = hn::Set(d, log_sum);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, in + i), a), b), d, out + i);
  if (i < n) hn::StoreN(hn::Sub(hn::Sub(hn::LoadN(d, in + i, n - i), a), b), d, out + i, n - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(SoftmaxRowF32Impl);
HWY_EXPORT(LogSoftmaxRowF32Impl);
void SoftmaxRowF32(const float* in, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRowF32Impl)(in, n, out);
}
void LogSoftmaxRowF32(const float* in, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(LogSoftmaxRowF32Impl)(in, n, out);
}

}  // namespace belay
#endif  // HWY_ONCE
