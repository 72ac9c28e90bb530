#include "runtime/kernels/quantize/quantize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/quantize/quantize.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Op>
HWY_INLINE void Map(const float* in, size_t n, float* out, const Op& op) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(d, hn::LoadU(d, in + i)), d, out + i);
  if (i < n) hn::StoreN(op(d, hn::LoadN(d, in + i, n - i)), d, out + i, n - i);
}

void QuantizeRunImpl(const float* in, size_t n, const QuantizeStep& s, float* out) {
  Map(in, n, out, [&s](auto d, auto x) HWY_ATTR {
    const auto zero = hn::Set(d, s.zero), low = hn::Set(d, s.low), high = hn::Set(d, s.high);
    auto q = hn::Mul(x, hn::Set(d, s.inverse));
    // Beyond 2^23 all floats are integers, which Round knows.
    q = s.add_first ? hn::Round(hn::Add(q, zero)) : hn::Add(hn::Round(q), zero);
    const auto raised = hn::IfThenElse(hn::Lt(q, low), low, q);
    return hn::IfThenElse(hn::Gt(raised, high), high, raised);
  });
}

void DequantizeRunImpl(const float* in, size_t n, float zero, float scale, float* out) {
  Map(in, n, out, [zero, scale](auto d, auto x) HWY_ATTR {
    return hn::Mul(hn::Sub(x, hn::Set(d, zero)), hn::Set(d, scale));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(QuantizeRunImpl);
HWY_EXPORT(DequantizeRunImpl);
void QuantizeRun(const float* in, size_t n, const QuantizeStep& step, float* out) {
  HWY_DYNAMIC_DISPATCH(QuantizeRunImpl)(in, n, step, out);
}
void DequantizeRun(const float* in, size_t n, float zero, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(DequantizeRunImpl)(in, n, zero, scale, out);
}

}  // namespace belay
#endif  // HWY_ONCE
