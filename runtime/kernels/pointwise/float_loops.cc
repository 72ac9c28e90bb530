#include "runtime/kernels/pointwise/loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/float_loops.cc"
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

template <class Op>
HWY_INLINE void Map(const void* const* operands, void* result, size_t n, const Op& op) {
  const hn::ScalableTag<float> d;
  const float* in = static_cast<const float*>(operands[0]);
  float* out = static_cast<float*>(result);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(d, hn::LoadU(d, in + i)), d, out + i);
  if (i < n) hn::StoreN(op(d, hn::LoadN(d, in + i, n - i)), d, out + i, n - i);
}

inline float ExactSin(float x) { return std::sin(x); }
inline float ExactCos(float x) { return std::cos(x); }

// The correctly rounded square root. From an approximation y of 1 / sqrt(x), one step of Newton's method
// gives root and half = y / 2 with twice the bits; the exact remainder x - root^2 corrects root once
// more. A test compares all fractions with both parities of the exponent.
template <class D, class V>
HWY_INLINE V ExactSqrt(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const auto moderate = hn::And(hn::Gt(x, hn::Set(d, 0x1p-90f)), hn::Lt(x, hn::Set(d, 0x1p90f)));
  if (HWY_UNLIKELY(!hn::AllTrue(d, moderate))) return hn::Sqrt(x);
  const V y = hn::ApproximateReciprocalSqrt(x);
  const V root = hn::Mul(x, y), half = hn::Mul(hn::Set(d, 0.5f), y);
  const V error = hn::NegMulAdd(root, half, hn::Set(d, 0.5f));
  const V better = hn::MulAdd(root, error, root), better_half = hn::MulAdd(half, error, half);
  return hn::MulAdd(hn::NegMulAdd(better, better, x), better_half, better);
#else
  return hn::Sqrt(x);
#endif
}

template <class D, class V>
HWY_INLINE V SafeExpm1(D d, V x) {
  const V y = hn::Expm1(d, hn::Clamp(x, hn::Set(d, -104.0f), hn::Set(d, 88.7228394f)));
  const V bounded = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228394f)),
                                   hn::Set(d, std::numeric_limits<float>::infinity()), y);
  // Zeros keep their sign; tiny numbers are their own result.
  const V small = hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-10f)), x, bounded);
  return hn::IfThenElse(hn::IsNaN(x), x, small);
}

template <class D, class V>
HWY_INLINE V SafeLog1p(D d, V x) {
  const V y = LimitedLog(d, x, hn::Set(d, -1.0f), hn::Log1p(d, x));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-10f)), x, y);
}

// gelu_tanh: 0.5 x (1 + tanh(y)), y = sqrt(2/pi) (x + 0.044715 x^3), computed as x * sigmoid(2 y),
// which avoids cancellation for tanh near -1.
template <class D, class V>
HWY_INLINE V TanhGelu(D d, V x) {
  const V x3 = hn::Mul(hn::Mul(x, x), x);
  const V y2 = hn::Mul(hn::Set(d, 1.595769122f), hn::MulAdd(hn::Set(d, 0.044715f), x3, x));
  return hn::Mul(x, Sigmoid(d, y2));
}

#define BELAY_DEFINE(name, expression)                                                           \
  void name(const void* const* operands, void* out, size_t n, const PointwiseParams&) {          \
    Map(operands, out, n, [&]([[maybe_unused]] auto d, auto x) HWY_ATTR { return expression; }); \
  }
// CopySign keeps the sign of zeros, which the oldest instruction set loses.
BELAY_DEFINE(Ceil, hn::CopySign(hn::Ceil(x), x))
BELAY_DEFINE(Cos, InDomain(d, x, CosInRange(d, x), 0.0f, 39000.0f, &ExactCos))
// Near zero erf is linear, also where the polynomials lose subnormal bits.
BELAY_DEFINE(Erf, hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1e-10f)),
                                 hn::Mul(x, hn::Set(d, 1.12837917f)), Erf(d, x)))
BELAY_DEFINE(Erfc, Erfc(d, x))
BELAY_DEFINE(Exp, SafeExp(d, x))
BELAY_DEFINE(Expm1, SafeExpm1(d, x))
BELAY_DEFINE(Floor, hn::CopySign(hn::Floor(x), x))
BELAY_DEFINE(GeluErf, GeluErf(d, x))
BELAY_DEFINE(GeluTanh, TanhGelu(d, x))
BELAY_DEFINE(Log, SafeLog(d, x))
BELAY_DEFINE(Log10, SafeLog10(d, x))
BELAY_DEFINE(Log1p, SafeLog1p(d, x))
BELAY_DEFINE(Log2, SafeLog2(d, x))
BELAY_DEFINE(Reciprocal, hn::Div(hn::Set(d, 1.0f), x))
BELAY_DEFINE(Round, hn::CopySign(hn::Round(x), x))
BELAY_DEFINE(Rsqrt, hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x)))
BELAY_DEFINE(Sigmoid, Sigmoid(d, x))
BELAY_DEFINE(Sin, InDomain(d, x, hn::Sin(d, x), 0.0f, 39000.0f, &ExactSin))
BELAY_DEFINE(Sqrt, ExactSqrt(d, x))
BELAY_DEFINE(Tanh, SafeTanh(d, x))
BELAY_DEFINE(Trunc, hn::CopySign(hn::Trunc(x), x))
#undef BELAY_DEFINE

// out = x / divisor, correctly rounded: x * (1 / divisor) is corrected. By Markstein's theorem, a
// correction rounds as a division does, if the result before it is within 1 ULP. Numbers so large
// or small that a remainder could overflow or underflow are divided.
template <bool kTwice>
HWY_INLINE void CorrectedQuotients(const void* const* operands, void* out, size_t n,
                                   float divisor) {
  Map(operands, out, n, [=](auto d, auto x) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto y = hn::Set(d, divisor), inverse = hn::Set(d, 1.0f / divisor);
    const auto first = hn::Mul(x, inverse);
    auto q = hn::MulAdd(hn::NegMulAdd(y, first, x), inverse, first);
    if constexpr (kTwice) q = hn::MulAdd(hn::NegMulAdd(y, q, x), inverse, q);
    // From 2^-60 to 2^90, in one comparison of exponents and digits.
    constexpr uint32_t kLeast = (127 - 60) << 23, kMost = (127 + 90) << 23;
    const auto above = hn::Sub(hn::BitCast(du, hn::Abs(x)), hn::Set(du, kLeast));
    const auto moderate = hn::Lt(above, hn::Set(du, kMost - kLeast));
    if (HWY_LIKELY(hn::AllTrue(du, moderate))) return q;
    const auto zero = hn::Eq(x, hn::Zero(d));
    if (!hn::AllTrue(d, hn::Or(zero, hn::RebindMask(d, moderate)))) return hn::Div(x, y);
    return hn::IfThenElse(zero, first, q);  // keeps the sign of zeros
  });
}

void DivBy(const void* const* operands, void* out, size_t n, const PointwiseParams& params) {
  const float divisor = params.Get<float>(0), size = std::fabs(divisor);
  if (!HWY_NATIVE_FMA || !(size > 0x1p-30f && size < 0x1p30f)) {
    return Map(operands, out, n,
               [=](auto d, auto x) HWY_ATTR { return hn::Div(x, hn::Set(d, divisor)); });
  }
  // x * (1 / divisor) is off by half an ULP, and by the relative error of the reciprocal times at
  // most 2^24 ULP.
  const bool within_ulp = std::fabs(std::fma(-divisor, 1.0f / divisor, 1.0f)) <= 0x1p-25f;
  return within_ulp ? CorrectedQuotients<false>(operands, out, n, divisor)
                    : CorrectedQuotients<true>(operands, out, n, divisor);
}

// Scalar parameters: alpha, scale and input_scale.
void Elu(const void* const* operands, void* out, size_t n, const PointwiseParams& params) {
  const float alpha = params.Get<float>(0), scale = params.Get<float>(1),
              input_scale = params.Get<float>(2);
  Map(operands, out, n, [=](auto d, auto x) HWY_ATTR {
    const auto below =
        hn::Mul(SafeExpm1(d, hn::Mul(x, hn::Set(d, input_scale))), hn::Set(d, alpha * scale));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), below, hn::Mul(x, hn::Set(d, scale)));
  });
}

void Glu(const void* const* operands, void* result, size_t n, const PointwiseParams&) {
  const hn::ScalableTag<float> d;
  const float* a = static_cast<const float*>(operands[0]);
  const float* b = static_cast<const float*>(operands[1]);
  float* out = static_cast<float*>(result);
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    hn::StoreN(hn::Mul(hn::LoadN(d, a + i, count), Sigmoid(d, hn::LoadN(d, b + i, count))), d,
               out + i, count);
  }
}

BELAY_DEFINE_FLOAT_LOOP_TABLE(FindFloatLoopImpl, BELAY_FLOAT_OPS)

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FindFloatLoopImpl);
VectorLoop FindFloatLoop(PointwiseOp op, DType type) {
  return HWY_DYNAMIC_DISPATCH(FindFloatLoopImpl)(op, type);
}

}  // namespace belay
#endif  // HWY_ONCE
