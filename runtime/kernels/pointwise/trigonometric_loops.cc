#include "runtime/kernels/pointwise/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/trigonometric_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"
#include "runtime/kernels/pointwise/domain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

inline float ExactTan(float x) { return std::tan(x); }

// `y` for |x| <= 1, else NaN.
template <class D, class V>
HWY_INLINE V InUnit(D d, V x, V y) {
  return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, 1.0f)), y,
                        hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

// e^|x| / 2, without overflow if the result is finite.
template <class D, class V>
HWY_INLINE V HalfExp(D d, V x) {
  const V root = SafeExp(d, hn::Mul(hn::Set(d, 0.5f), hn::Abs(x)));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), root), root);
}
template <class D, class V>
HWY_INLINE V VectorCosh(D d, V x) {
  const V half = HalfExp(d, x);
  return hn::Add(half, hn::Div(hn::Set(d, 0.25f), half));
}
template <class D, class V>
HWY_INLINE V VectorSinh(D d, V x) {
  const V half = HalfExp(d, x), size = hn::Abs(x);
  const V large = hn::CopySign(hn::Sub(half, hn::Div(hn::Set(d, 0.25f), half)), x);
  // Near zero the difference of exponentials is computed without them.
  const V bounded = hn::Clamp(x, hn::Set(d, -1.0f), hn::Set(d, 1.0f));
  const V near = hn::IfThenElse(hn::Lt(size, hn::Set(d, 1e-5f)), x, hn::Sinh(d, bounded));
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 1.0f)), near, large);
}

// Odd functions that are the identity near zero.
template <class D, class V>
HWY_INLINE V Odd(D d, V x, V y) {
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-5f)), x, hn::CopySign(y, x));
}

template <class D, class V>
HWY_INLINE V VectorAsinh(D d, V x) {
  // For large |x|, log(2|x|): the 1 is negligible there, and x^2 might overflow.
  const V size = hn::Abs(x), edge = hn::Set(d, 1e4f);
  const V far = hn::Add(SafeLog(d, size), hn::Set(d, 0.693147181f));
  return Odd(d, x, hn::IfThenElse(hn::Gt(size, edge), far, hn::Asinh(d, hn::Min(size, edge))));
}
template <class D, class V>
HWY_INLINE V VectorAcosh(D d, V x) {
  const V one = hn::Set(d, 1.0f), edge = hn::Set(d, 1e4f);
  const V far = hn::Add(SafeLog(d, x), hn::Set(d, 0.693147181f));
  const V near = hn::Acosh(d, hn::Clamp(x, one, edge));
  const V y = hn::IfThenElse(hn::Gt(x, edge), far, near);
  return hn::IfThenElse(hn::Ge(x, one), y, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}
template <class D, class V>
HWY_INLINE V VectorAtanh(D d, V x) {
  const V size = hn::Abs(x), one = hn::Set(d, 1.0f);
  const V y = hn::IfThenElse(hn::Eq(size, one), hn::Set(d, std::numeric_limits<float>::infinity()),
                             hn::Atanh(d, size));
  return InUnit(d, x, Odd(d, x, y));
}
template <class D, class V>
HWY_INLINE V VectorAtan(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, Odd(d, x, hn::Atan(d, hn::Abs(x))));
}

// Mike Giles, "Approximating the erfinv function", GPU Computing Gems, 2011: polynomials of
// w = -log(1 - x^2), or of its root for the tails.
template <class D, class V>
HWY_INLINE V VectorErfinv(D d, V x) {
  static constexpr float kNear[] = {2.81022636e-08f,  3.43273939e-07f, -3.5233877e-06f,
                                    -4.39150654e-06f, 0.00021858087f,  -0.00125372503f,
                                    -0.00417768164f,  0.246640727f,    1.50140941f};
  static constexpr float kTail[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                                    -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                                    0.00943887047f,   1.00167406f,     2.83297682f};
  const V one = hn::Set(d, 1.0f);
  const V w = hn::Neg(SafeLog(d, hn::Mul(hn::Sub(one, x), hn::Add(one, x))));
  const auto near = hn::Lt(w, hn::Set(d, 5.0f));
  const V t =
      hn::IfThenElse(near, hn::Sub(w, hn::Set(d, 2.5f)), hn::Sub(hn::Sqrt(w), hn::Set(d, 3.0f)));
  V y = hn::Zero(d);
  for (int k = 0; k < 9; ++k) {
    y = hn::MulAdd(y, t, hn::IfThenElse(near, hn::Set(d, kNear[k]), hn::Set(d, kTail[k])));
  }
  const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  y = hn::IfThenElse(hn::Eq(hn::Abs(x), one), infinity, y);
  return hn::Mul(x, y);
}

#define BELAY_DEFINE(name, expression)                                                     \
  void name(const void* const* operands, void* result, size_t n, const PointwiseParams&) { \
    const hn::ScalableTag<float> d;                                                        \
    const float* in = static_cast<const float*>(operands[0]);                              \
    float* out = static_cast<float*>(result);                                              \
    for (size_t i = 0; i < n; i += hn::Lanes(d)) {                                         \
      const size_t count = HWY_MIN(hn::Lanes(d), n - i);                                   \
      /* What is not there must not be out of a domain. */                                 \
      const auto x = hn::LoadNOr(hn::Set(d, 1.0f), d, in + i, count);                      \
      hn::StoreN(expression, d, out + i, count);                                           \
    }                                                                                      \
  }
BELAY_DEFINE(Acos, InUnit(d, x, hn::Acos(d, x)))
BELAY_DEFINE(Acosh, VectorAcosh(d, x))
BELAY_DEFINE(Asin, InUnit(d, x, Odd(d, x, hn::Asin(d, hn::Abs(x)))))
BELAY_DEFINE(Asinh, hn::IfThenElse(hn::IsNaN(x), x, VectorAsinh(d, x)))
BELAY_DEFINE(Atan, VectorAtan(d, x))
BELAY_DEFINE(Atanh, VectorAtanh(d, x))
BELAY_DEFINE(Cosh, hn::IfThenElse(hn::IsNaN(x), x, VectorCosh(d, x)))
BELAY_DEFINE(Erfinv, VectorErfinv(d, x))
BELAY_DEFINE(Sinh, hn::IfThenElse(hn::IsNaN(x), x, VectorSinh(d, x)))
BELAY_DEFINE(Tan,
             InDomain(d, x, hn::Div(hn::Sin(d, x), CosInRange(d, x)), 1e-5f, 39000.0f, &ExactTan))
#undef BELAY_DEFINE

BELAY_DEFINE_FLOAT_LOOP_TABLE(FindTrigonometricLoopImpl, BELAY_TRIGONOMETRIC_OPS)

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FindTrigonometricLoopImpl);
VectorLoop FindTrigonometricLoop(PointwiseOp op, DType type) {
  return HWY_DYNAMIC_DISPATCH(FindTrigonometricLoopImpl)(op, type);
}

}  // namespace belay
#endif  // HWY_ONCE
