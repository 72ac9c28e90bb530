#include "runtime/kernels/pointwise/pow_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/pow_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "runtime/kernels/math-inl.h"
#include "runtime/kernels/pointwise/domain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {

// PowerOfAbs: |x|^e for finite e other than 0. NaN gives NaN.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// log2(x) = exponent + f * P(f) for f = fraction - 1, with fractions in [0.75, 1.5) (see math-inl.h), and
// 2^y = 2^n * Q(y - n) for n = round(y). P and Q are minimax fits with relative errors of 2.7e-12 and
// 4.1e-11: the result's is below 1e-9, since floats have |y| <= 150.
HWY_INLINE hn::Vec512<double> PowerOfAbs(hn::ScalableTag<double> d, hn::Vec512<double> magnitude,
                                         hn::Vec512<double> e) {
  using V = hn::Vec512<double>;
  const V one = hn::Set(d, 1.0);
  const V fraction{_mm512_getmant_pd(magnitude.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan)};
  V exponent{_mm512_getexp_pd(magnitude.raw)};
  exponent = hn::MaskedAddOr(exponent, hn::Lt(fraction, one), exponent, one);
  const V f = hn::Sub(fraction, one);
  V p = hn::Set(d, -0.032292617129675766);
  for (const double c :
       {0.09054740208876631, -0.12676149625403416, 0.13658769354222514, -0.1447478684083585,
        0.15992484747316965, -0.1802657696311865, 0.20610980651658892, -0.24045190504100358,
        0.288538888764277, -0.360673721330103, 0.4808983474236395, -0.7213475205957921,
        1.4426950408885728}) {
    p = hn::MulAdd(p, f, hn::Set(d, c));
  }
  // Beyond the limits, floats are infinite or 0.
  const V y =
      hn::Clamp(hn::Mul(e, hn::MulAdd(p, f, exponent)), hn::Set(d, -300.0), hn::Set(d, 300.0));
  const V n = hn::Round(y), r = hn::Sub(y, n);
  V q = hn::Set(d, 1.5201914223827497e-05);
  for (const double c :
       {0.00015469291185923266, 0.0013333922594790486, 0.009618027253502907, 0.055504103534118165,
        0.24022651198159284, 0.693147180728455, 0.9999999999616824}) {
    q = hn::MulAdd(q, r, hn::Set(d, c));
  }
  const V power{_mm512_scalef_pd(q.raw, n.raw)};
  return hn::IfThenElse(hn::IsNaN(magnitude), magnitude, power);
}
#else
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowerOfAbs(D d, V magnitude, V e) {
  const V zero = hn::Zero(d), inf = hn::Set(d, std::numeric_limits<double>::infinity());
  V log = hn::Log(d, magnitude);
  log = hn::IfThenElse(hn::Eq(magnitude, zero), hn::Neg(inf), log);
  log = hn::IfThenElse(hn::Eq(magnitude, inf), inf, log);
  const V y = hn::Mul(e, log);
  // Beyond the limits, floats are infinite or 0.
  const V power = hn::Exp(d, hn::Clamp(y, hn::Set(d, -200.0), hn::Set(d, 200.0)));
  return hn::IfThenElse(hn::IsNaN(magnitude), magnitude, power);
}
#endif

void PowF32Impl(const float* in, float exponent, size_t n, float* out) {
  if (exponent == 0) {
    for (size_t i = 0; i < n; ++i) out[i] = 1;
    return;
  }
  if (!std::isfinite(exponent)) {
    for (size_t i = 0; i < n; ++i) out[i] = std::pow(in[i], exponent);
    return;
  }
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const bool whole = std::nearbyint(exponent) == exponent;
  const bool odd = whole && std::fabs(exponent) < 0x1p24f && std::fmod(exponent, 2.0f) != 0;
  const auto e = hn::Set(d, static_cast<double>(exponent));
  const auto nan = hn::Set(df, std::numeric_limits<float>::quiet_NaN());
  const auto minus_inf = hn::Set(df, -std::numeric_limits<float>::infinity());
  const auto power = [&](auto x) HWY_ATTR {
    const auto magnitude = hn::DemoteTo(df, PowerOfAbs(d, hn::PromoteTo(d, hn::Abs(x)), e));
    if (odd) return hn::CopySign(magnitude, x);
    if (whole) return magnitude;
    const auto undefined = hn::And(hn::Lt(x, hn::Zero(df)), hn::Gt(x, minus_inf));
    return hn::IfThenElse(undefined, nan, magnitude);
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(power(hn::LoadU(df, in + i)), df, out + i);
  if (i < n) hn::StoreN(power(hn::LoadN(df, in + i, n - i)), df, out + i, n - i);
}

void PowTensorsF32Impl(const float* in, const float* exponents, size_t n, float* out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const auto nan = hn::Set(df, std::numeric_limits<float>::quiet_NaN());
  const auto inf = hn::Set(df, std::numeric_limits<float>::infinity()), zero = hn::Zero(df);
  const auto one = hn::Set(df, 1.0f), half = hn::Set(df, 0.5f);
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float bases[hn::MaxLanes(df)], powers[hn::MaxLanes(df)];
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    const auto x = hn::LoadNOr(one, df, in + i, count);
    const auto e = hn::LoadNOr(one, df, exponents + i, count);
    const auto magnitude = hn::Abs(x), size = hn::Abs(e);
    auto y = hn::DemoteTo(df, PowerOfAbs(d, hn::PromoteTo(d, magnitude), hn::PromoteTo(d, e)));
    const auto whole = hn::Eq(hn::Round(e), e);
    const auto halved = hn::Mul(half, e);
    const auto odd = hn::And(whole, hn::Ne(hn::Round(halved), halved));
    const auto negative = hn::Lt(x, zero);
    y = hn::IfThenElse(hn::And(negative, odd), hn::Neg(y), y);
    y = hn::IfThenElse(hn::AndNot(whole, negative), nan, y);
    // Zeros, infinities and NaN have rules of their own.
    const auto usual = hn::And(hn::And(hn::Lt(magnitude, inf), hn::Gt(magnitude, zero)),
                               hn::And(hn::Lt(size, inf), hn::Gt(size, zero)));
    if (HWY_UNLIKELY(!hn::AllTrue(df, usual))) {
      hn::Store(x, df, bases);
      hn::Store(e, df, powers);
      y = ReplaceLanes(df, y, usual, [&](size_t k) { return std::pow(bases[k], powers[k]); });
    }
    hn::StoreN(y, df, out + i, count);
  }
}

void PowOf2(const float* exponents, size_t n, float* out) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t count = HWY_MIN(hn::Lanes(d), n - i);
    const auto x = hn::LoadN(d, exponents + i, count);
    hn::StoreN(SafeExp2(d, x), d, out + i, count);
  }
}

void PowOfBaseF32Impl(float base, const float* exponents, size_t n, float* out) {
  if (base == 2) return PowOf2(exponents, n, out);
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const auto log = hn::Set(d, std::log(static_cast<double>(base)));
  const auto low = hn::Set(d, -200.0), high = hn::Set(d, 200.0);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t count = HWY_MIN(hn::Lanes(d), n - i);
    const auto e = hn::LoadN(df, exponents + i, count);
    const auto y = hn::Clamp(hn::Mul(hn::PromoteTo(d, e), log), low, high);
    hn::StoreN(hn::IfThenElse(hn::IsNaN(e), e, hn::DemoteTo(df, hn::Exp(d, y))), df, out + i,
               count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(PowF32Impl);
void PowF32(const float* in, float exponent, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(PowF32Impl)(in, exponent, n, out);
}
HWY_EXPORT(PowTensorsF32Impl);
void PowF32(const float* in, const float* exponents, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(PowTensorsF32Impl)(in, exponents, n, out);
}
HWY_EXPORT(PowOfBaseF32Impl);
void PowOfBaseF32(float base, const float* exponents, size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(PowOfBaseF32Impl)(base, exponents, n, out);
}

}  // namespace belay
#endif  // HWY_ONCE
