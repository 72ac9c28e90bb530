#include "runtime/core/element.h"
#include "runtime/core/python_floats.h"
#include "runtime/kernels/pointwise/loops.h"
#include "runtime/kernels/pointwise/pow_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/binary_float_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>
#include <limits>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "runtime/kernels/bfloat16-inl.h"
#include "runtime/kernels/pointwise/domain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

// out[i] = the result of `vector`, which sets `usual` for the lanes that it computes, or of `exact`
// for the other lanes.
template <class Vector>
HWY_INLINE void Map(const void* const* operands, void* result, size_t n, const Vector& vector,
                    float (*exact)(float, float)) {
  const D d;
  const float* a = static_cast<const float*>(operands[0]);
  const float* b = static_cast<const float*>(operands[1]);
  float* out = static_cast<float*>(result);
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float left[hn::MaxLanes(d)], right[hn::MaxLanes(d)];
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    const V x = hn::LoadNOr(hn::Set(d, 1.0f), d, a + i, count);
    const V y = hn::LoadNOr(hn::Set(d, 1.0f), d, b + i, count);
    M usual;
    V z = vector(d, x, y, usual);
    if (HWY_UNLIKELY(!hn::AllTrue(d, usual))) {
      hn::Store(x, d, left);
      hn::Store(y, d, right);
      z = ReplaceLanes(d, z, usual, [&](size_t k) { return exact(left[k], right[k]); });
    }
    hn::StoreN(z, d, out + i, count);
  }
}

// atan(min / max) of the magnitudes, moved to the octant of (x, y).
HWY_INLINE V VectorAtan2(D d, V y, V x, M& usual) {
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity()), zero = hn::Zero(d);
  const V height = hn::Abs(y), width = hn::Abs(x);
  const V larger = hn::Max(height, width);
  usual = hn::And(hn::And(hn::Lt(height, inf), hn::Lt(width, inf)), hn::Gt(larger, zero));
  const V t = hn::Div(hn::Min(height, width), larger);
  V angle = hn::IfThenElse(hn::Lt(t, hn::Set(d, 1e-5f)), t, hn::Atan(d, t));
  angle = hn::IfThenElse(hn::Gt(height, width), hn::Sub(hn::Set(d, 1.57079633f), angle), angle);
  angle = hn::IfThenElse(hn::Lt(x, zero), hn::Sub(hn::Set(d, 3.14159265f), angle), angle);
  return hn::CopySign(angle, y);
}

// a - trunc(a / b) * b in double, for half of the lanes. Exact if |a / b| < 2^29: the product has
// at most 29 + 24 bits. If |a| >= |b|, the exact quotient is a multiple of 2^-24 apart from the
// next integer, so that it does not round up to it; if |a| < |b|, it is at most 1 - 2^-24.
template <class DD, class VD>
HWY_INLINE VD TruncatedRemainder(DD, VD a, VD b) {
  return hn::NegMulAdd(hn::Trunc(hn::Div(a, b)), b, a);
}

HWY_INLINE V VectorFmod(D d, V a, V b, M& usual) {
  const hn::RepartitionToWide<D> dd;
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  const V size = hn::Abs(b);
  usual = hn::And(hn::And(hn::Lt(size, inf), hn::Lt(hn::Abs(a), inf)),
                  hn::Lt(hn::Mul(hn::Abs(a), hn::Set(d, 0x1p-28f)), size));
  const auto low = TruncatedRemainder(dd, hn::PromoteLowerTo(dd, a), hn::PromoteLowerTo(dd, b));
  const auto high = TruncatedRemainder(dd, hn::PromoteUpperTo(dd, a), hn::PromoteUpperTo(dd, b));
  const hn::Half<D> half;
  const V r = hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
  return hn::CopySign(r, a);
}

// Python's %: the result has the sign of the divisor.
HWY_INLINE V VectorRemainder(D d, V a, V b, M& usual) {
  const V r = VectorFmod(d, a, b, usual), zero = hn::Zero(d);
  const M differ = hn::Xor(hn::Lt(b, zero), hn::Lt(r, zero));
  return hn::IfThenElse(hn::And(hn::Ne(r, zero), differ), hn::Add(r, b), r);
}

// Rounds finite numbers to a type of half precision, to nearest with ties to even.
template <HalfSteps kSteps>
HWY_INLINE V RoundStep(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  if constexpr (kSteps == HalfSteps::kBFloat16) {
    return hn::BitCast(d, hn::And(RoundToBFloat16(du, bits), hn::Set(du, 0xffff0000u)));
  } else if constexpr (kSteps == HalfSteps::kFloat16) {
    // With e the exponent of x, at least -14: the unit of 1.5 * 2^(13 + e) is that of the half.
    const V power = hn::BitCast(d, hn::And(bits, hn::Set(du, 0x7f800000u)));
    const V shift = hn::Mul(hn::Max(power, hn::Set(d, 0x1p-14f)), hn::Set(d, 12288.0f));
    const V r = hn::CopySign(hn::Sub(hn::Add(x, shift), shift), x);
    const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
    return hn::IfThenElse(hn::Gt(hn::Abs(r), hn::Set(d, 65504.0f)), hn::CopySign(inf, r), r);
  } else {
    return x;
  }
}

// Python's //, in the steps of PythonFloatFloorDiv.
template <HalfSteps kSteps>
HWY_INLINE V VectorFloorDiv(D d, V a, V b, M& usual) {
  const auto round = [&](V x) HWY_ATTR { return RoundStep<kSteps>(d, x); };
  const V r = VectorFmod(d, a, b, usual), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  V q = round(hn::Div(round(hn::Sub(a, r)), b));
  const M differ = hn::Xor(hn::Lt(b, zero), hn::Lt(r, zero));
  q = hn::IfThenElse(hn::And(hn::Ne(r, zero), differ), round(hn::Sub(q, one)), q);
  const V floored = hn::Floor(q);
  const M above = hn::Gt(round(hn::Sub(q, floored)), hn::Set(d, 0.5f));
  const V nearest = hn::IfThenElse(above, round(hn::Add(floored, one)), floored);
  // Infinite halves, which differ from themselves rounded down by NaN, are their own result.
  if constexpr (kSteps != HalfSteps::kNone) {
    usual = hn::And(usual, hn::Lt(hn::Abs(q), hn::Set(d, std::numeric_limits<float>::infinity())));
  }
  return hn::IfThenElse(hn::Eq(q, zero), hn::CopySign(zero, hn::Xor(a, b)), nearest);
}

template <HalfSteps kSteps>
HWY_INLINE V VectorTruncDiv(D d, V a, V b, M& usual) {
  const V q = hn::Div(a, b);
  usual = hn::Eq(hn::Zero(d), hn::Zero(d));
  if constexpr (kSteps != HalfSteps::kNone) {
    usual = hn::Lt(hn::Abs(q), hn::Set(d, std::numeric_limits<float>::infinity()));
  }
  return hn::CopySign(hn::Trunc(RoundStep<kSteps>(d, q)), q);
}

// sqrt(a^2 + b^2) if the larger square neither overflows nor underflows.
HWY_INLINE V VectorHypot(D d, V a, V b, M& usual) {
  const V larger = hn::Max(hn::Abs(a), hn::Abs(b)), smaller = hn::Min(hn::Abs(a), hn::Abs(b));
  const V sum = hn::Add(hn::Abs(a), hn::Abs(b));  // NaN if one is
  usual = hn::And(hn::Lt(sum, hn::Set(d, 0x1p60f)),
                  hn::Or(hn::Gt(sum, hn::Set(d, 0x1p-40f)), hn::Eq(sum, hn::Zero(d))));
  return hn::Sqrt(hn::MulAdd(larger, larger, hn::Mul(smaller, smaller)));
}

inline float ExactAtan2(float y, float x) { return std::atan2(y, x); }
inline float ExactFmod(float a, float b) { return std::fmod(a, b); }
template <HalfSteps kSteps>
inline float RoundedStep(float x) {
  if constexpr (kSteps == HalfSteps::kNone) return x;
  using Narrow = std::conditional_t<kSteps == HalfSteps::kFloat16, Half, BFloat16>;
  return ConvertElement<float>(ConvertElement<Narrow>(x));
}
template <HalfSteps kSteps>
inline float ExactTruncDiv(float a, float b) {
  return std::trunc(RoundedStep<kSteps>(a / b));
}
template <HalfSteps kSteps>
inline float ExactFloorDiv(float a, float b) {
  return PythonFloatFloorDiv(a, b, &RoundedStep<kSteps>);
}
inline float ExactHypot(float a, float b) { return std::hypot(a, b); }
inline float ExactRemainder(float a, float b) {
  const float r = std::fmod(a, b);
  return r != 0 && ((b < 0) != (r < 0)) ? r + b : r;
}

#define BELAY_DEFINE(name)                                                              \
  void name(const void* const* operands, void* out, size_t n, const PointwiseParams&) { \
    const auto vector = [](D d, V a, V b, M& usual)                                     \
                            HWY_ATTR { return Vector##name(d, a, b, usual); };          \
    Map(operands, out, n, vector, &Exact##name);                                        \
  }
BELAY_DEFINE(Atan2)
BELAY_DEFINE(Fmod)
BELAY_DEFINE(Hypot)
BELAY_DEFINE(Remainder)
#undef BELAY_DEFINE

#define BELAY_DEFINE(name)                                                                     \
  template <HalfSteps kSteps>                                                                  \
  void Map##name(const void* const* operands, void* out, size_t n) {                           \
    const auto vector = [](D d, V a, V b, M& usual)                                            \
                            HWY_ATTR { return Vector##name<kSteps>(d, a, b, usual); };         \
    Map(operands, out, n, vector, &Exact##name<kSteps>);                                       \
  }                                                                                            \
  void name(const void* const* operands, void* out, size_t n, const PointwiseParams& params) { \
    switch (static_cast<HalfSteps>(params.Get<int64_t>(0))) {                                  \
      case HalfSteps::kFloat16:                                                                \
        return Map##name<HalfSteps::kFloat16>(operands, out, n);                               \
      case HalfSteps::kBFloat16:                                                               \
        return Map##name<HalfSteps::kBFloat16>(operands, out, n);                              \
      case HalfSteps::kNone:                                                                   \
        return Map##name<HalfSteps::kNone>(operands, out, n);                                  \
    }                                                                                          \
  }
BELAY_DEFINE(FloorDiv)
BELAY_DEFINE(TruncDiv)
#undef BELAY_DEFINE

void Copysign(const void* const* operands, void* result, size_t n, const PointwiseParams&) {
  const float* a = static_cast<const float*>(operands[0]);
  const float* b = static_cast<const float*>(operands[1]);
  float* out = static_cast<float*>(result);
  BELAY_INDEPENDENT_ITERATIONS
  for (size_t i = 0; i < n; ++i) out[i] = std::copysign(a[i], b[i]);
}

void PowTensor(const void* const* operands, void* out, size_t n, const PointwiseParams&) {
  PowF32(static_cast<const float*>(operands[0]), static_cast<const float*>(operands[1]), n,
         static_cast<float*>(out));
}
// Scalar parameter: the base.
void PowOfBase(const void* const* operands, void* out, size_t n, const PointwiseParams& params) {
  PowOfBaseF32(params.Get<float>(0), static_cast<const float*>(operands[0]), n,
               static_cast<float*>(out));
}

BELAY_DEFINE_FLOAT_LOOP_TABLE(FindBinaryFloatLoopImpl, BELAY_BINARY_FLOAT_OPS)

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FindBinaryFloatLoopImpl);
VectorLoop FindBinaryFloatLoop(PointwiseOp op, DType type) {
  return HWY_DYNAMIC_DISPATCH(FindBinaryFloatLoopImpl)(op, type);
}

}  // namespace belay
#endif  // HWY_ONCE
