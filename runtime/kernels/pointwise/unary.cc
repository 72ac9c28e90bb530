#include "runtime/kernels/pointwise/pointwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/unary.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

template <class Op>
HWY_INLINE void Loop(const float* in, size_t n, float* out, const Op& op) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(d, hn::LoadU(d, in + i)), d, out + i);
  if (i < n) hn::StoreN(op(d, hn::LoadN(d, in + i, n - i)), d, out + i, n - i);
}

// min(max(x, low), high) that keeps NaN.
template <class D, class V>
HWY_INLINE V Bounded(D d, V x, float low, float high) {
  // A bound that is NaN makes everything NaN.
  if (low != low) return hn::Set(d, low);
  if (high != high) return hn::Set(d, high);
  const V y = hn::Min(hn::Max(x, hn::Set(d, low)), hn::Set(d, high));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

#define BELAY_DEFINE(name, expression)                                                           \
  void name##Impl(const float* in, size_t n, [[maybe_unused]] float a, [[maybe_unused]] float b, \
                  float* out) {                                                                  \
    Loop(in, n, out, [&]([[maybe_unused]] auto d, auto x) HWY_ATTR { return expression; });      \
  }
BELAY_DEFINE(AbsF32, hn::Abs(x))
// Zeros keep their sign, which the oldest instruction set forgets.
BELAY_DEFINE(CeilF32, hn::CopySign(hn::Ceil(x), x))
BELAY_DEFINE(ClampF32, Bounded(d, x, a, b))
BELAY_DEFINE(ErfF32, Erf(d, x))
BELAY_DEFINE(ExpF32, SafeExp(d, x))
BELAY_DEFINE(FloorF32, hn::CopySign(hn::Floor(x), x))
BELAY_DEFINE(HardtanhF32, Bounded(d, x, a, b))
BELAY_DEFINE(LeakyReluF32, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, hn::Set(d, a))))
BELAY_DEFINE(LogF32, SafeLog(d, x))
BELAY_DEFINE(NegF32, hn::Neg(x))
BELAY_DEFINE(ReciprocalF32, hn::Div(hn::Set(d, 1.0f), x))
BELAY_DEFINE(ReluF32, hn::IfThenElse(hn::IsNaN(x), x, hn::Max(x, hn::Zero(d))))
BELAY_DEFINE(RsqrtF32, hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x)))
BELAY_DEFINE(SigmoidF32, Sigmoid(d, x))
BELAY_DEFINE(SqrtF32, hn::Sqrt(x))
BELAY_DEFINE(TanhF32, SafeTanh(d, x))
BELAY_DEFINE(TruncF32, hn::CopySign(hn::Trunc(x), x))
#undef BELAY_DEFINE

void GeluF32Impl(const float* in, size_t n, float tanh_form, float, float* out) {
  if (tanh_form != 0) {
    // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    Loop(in, n, out, [](auto d, auto x) HWY_ATTR {
      const auto x3 = hn::Mul(hn::Mul(x, x), x);
      const auto inner =
          hn::Mul(hn::Set(d, 0.797884561f), hn::MulAdd(hn::Set(d, 0.044715f), x3, x));
      const auto half = hn::Mul(hn::Set(d, 0.5f), x);
      return hn::MulAdd(half, SafeTanh(d, inner), half);
    });
    return;
  }
  // x times the normal distribution's mass below x, from whichever tail is small, so that nothing
  // cancels.
  Loop(in, n, out, [](auto d, auto x) HWY_ATTR {
    const auto tail =
        hn::Mul(hn::Set(d, 0.5f), ErfcOfPositive(d, hn::Mul(hn::Abs(x), hn::Set(d, 0.707106781f))));
    const auto below =
        hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
    const auto y = hn::Mul(x, below);
    // -inf * 0 is 0 here.
    return hn::IfThenElse(hn::Eq(x, hn::Set(d, -std::numeric_limits<float>::infinity())),
                          hn::Neg(hn::Zero(d)), y);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

#define BELAY_UNARY_KERNEL(op, fn, max_ulp)                          \
  HWY_EXPORT(fn##Impl);                                              \
  void fn(const float* in, size_t n, float a, float b, float* out) { \
    HWY_DYNAMIC_DISPATCH(fn##Impl)(in, n, a, b, out);                \
  }
#include "runtime/kernels/pointwise/kernels.inc"

}  // namespace belay
#endif  // HWY_ONCE
