// Elementary functions on vectors of floats: Highway's, extended to all inputs (NaN in gives NaN
// out, limits at the ends), and some that Highway lacks.
//
// Included once per target inside foreach_target; see hwy/foreach_target.h. Contracts (maximal
// error over all floats):
//   SafeExp      2 ULP; 0 below -104, inf above 89
//   SafeExp2     2 ULP; 0 below -150, inf from 128 on
//   SafeLog      4 ULP; -inf at 0, NaN below
//   SafeLog2     4 ULP; likewise
//   SafeLog10    4 ULP; likewise
//   SafeTanh     4 ULP
//   Sigmoid      4 ULP
//   Erf          absolute error 3e-7
//   NormalCdf    12 ULP
//   Erfc         12 ULP
#if defined(BELAY_RUNTIME_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BELAY_RUNTIME_KERNELS_MATH_INL_H_
#undef BELAY_RUNTIME_KERNELS_MATH_INL_H_
#else
#define BELAY_RUNTIME_KERNELS_MATH_INL_H_
#endif

#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x * 2^n for integral n: rounds results below the normal numbers once, and gives infinity above
// them.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
HWY_INLINE hn::Vec512<float> TimesPowerOf2(hn::Vec512<float> x, hn::Vec512<float> n) {
  return hn::Vec512<float>{_mm512_scalef_ps(x.raw, n.raw)};
}
HWY_INLINE hn::Vec256<float> TimesPowerOf2(hn::Vec256<float> x, hn::Vec256<float> n) {
  return hn::Vec256<float>{_mm256_scalef_ps(x.raw, n.raw)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> TimesPowerOf2(hn::Vec128<float, kLanes> x,
                                                   hn::Vec128<float, kLanes> n) {
  return hn::Vec128<float, kLanes>{_mm_scalef_ps(x.raw, n.raw)};
}
#else
// Precondition: |n| <= 200.
template <class V>
HWY_INLINE V TimesPowerOf2(V x, V n) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto whole = hn::ConvertTo(di, n), half = hn::ShiftRight<1>(whole);
  const auto power = [&](auto exponent) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
  };
  return hn::Mul(hn::Mul(x, power(half)), power(hn::Sub(whole, half)));
}
#endif

// exp(r) * 2^n for |r| <= ln 2 / 2, by a polynomial with the coefficients of Highway's Exp.
template <class D, class V>
HWY_INLINE V ExpTimesPowerOf2(D d, V r, V n) {
  const V r2 = hn::Mul(r, r);
  const V p01 = hn::MulAdd(r, hn::Set(d, 0.166666671633720397949219f), hn::Set(d, 0.5f));
  const V p23 = hn::MulAdd(r, hn::Set(d, 0.00833336077630519866943359f),
                           hn::Set(d, 0.0416664853692054748535156f));
  const V p45 = hn::MulAdd(r, hn::Set(d, 0.000198527617612853646278381f),
                           hn::Set(d, 0.00139304355252534151077271f));
  const V p = hn::MulAdd(hn::MulAdd(p45, r2, p23), r2, p01);
  return TimesPowerOf2(hn::Add(hn::MulAdd(p, r2, r), hn::Set(d, 1.0f)), n);
}

// 2^x: 0 below -150, infinity from 128 on; NaN stays NaN.
template <class D, class V>
HWY_INLINE V SafeExp2(D d, V x) {
  const V bounded = hn::Clamp(x, hn::Set(d, -160.0f), hn::Set(d, 160.0f));
  const V n = hn::Round(bounded);
  const V y = ExpTimesPowerOf2(d, hn::Mul(hn::Sub(bounded, n), hn::Set(d, 0.693147180559945f)), n);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// exp(x) for x in [-113, 104] or NaN, which stays NaN: x = n * ln 2 + r with |r| <= ln 2 / 2.
template <class D, class V>
HWY_INLINE V ExpInRange(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  const V high = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x);
  const V r = hn::NegMulAdd(n, hn::Set(d, 1.428606765330187045e-6f), high);
  return ExpTimesPowerOf2(d, r, n);
#else
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
#endif
}

template <class D, class V>
HWY_INLINE V SafeExp(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // Max and Min give their second operand where one is NaN.
  return ExpInRange(d, hn::Min(hn::Set(d, 104.0f), hn::Max(hn::Set(d, -104.0f), x)));
#else
  const V y = hn::Exp(d, hn::Clamp(x, hn::Set(d, -104.0f), hn::Set(d, 104.0f)));
  const V bounded = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228394f)),
                                   hn::Set(d, std::numeric_limits<float>::infinity()), y);
  return hn::IfThenElse(hn::IsNaN(x), x,
                        hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -103.97f)), bounded));
#endif
}

// exp(-|x|); NaN stays NaN.
template <class D, class V>
HWY_INLINE V ExpOfNegatedAbs(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return ExpInRange(d, hn::Max(hn::Set(d, -104.0f), hn::Neg(hn::Abs(x))));
#else
  return SafeExp(d, hn::Neg(hn::Abs(x)));
#endif
}

// 1 / y for y in [2^-100, 2^100] or NaN. Error: 1 ULP.
template <class D, class V>
HWY_INLINE V ReciprocalOfNormal(D d, V y) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // One step of Newton's method doubles the 14 bits of the approximation.
  const V r = hn::ApproximateReciprocal(y);
  return hn::MulAdd(r, hn::NegMulAdd(y, r, hn::Set(d, 1.0f)), r);
#else
  return hn::Div(hn::Set(d, 1.0f), y);
#endif
}

// Sets the limits of a logarithm: `y` for finite x above the pole.
template <class D, class V>
HWY_INLINE V LimitedLog(D d, V x, V pole, V y) {
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  if (HWY_LIKELY(hn::AllTrue(d, hn::And(hn::Gt(x, pole), hn::Lt(x, inf))))) return y;
  y = hn::IfThenElse(hn::Eq(x, pole), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  y = hn::IfThenElse(hn::Lt(x, pole), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// x = fraction * 2^exponent with a fraction in [0.75, 1.5), and an exponent that is 1 too small for
// fractions below 1. Zeros have an exponent of -inf, infinity one of inf; fractions of negative numbers
// and of NaN are NaN.
HWY_INLINE hn::Vec512<float> Exponent(hn::Vec512<float> x) {
  return hn::Vec512<float>{_mm512_getexp_ps(x.raw)};
}
HWY_INLINE hn::Vec256<float> Exponent(hn::Vec256<float> x) {
  return hn::Vec256<float>{_mm256_getexp_ps(x.raw)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> Exponent(hn::Vec128<float, kLanes> x) {
  return hn::Vec128<float, kLanes>{_mm_getexp_ps(x.raw)};
}
HWY_INLINE hn::Vec512<float> Fraction(hn::Vec512<float> x) {
  return hn::Vec512<float>{_mm512_getmant_ps(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan)};
}
HWY_INLINE hn::Vec256<float> Fraction(hn::Vec256<float> x) {
  return hn::Vec256<float>{_mm256_getmant_ps(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan)};
}
template <size_t kLanes>
HWY_INLINE hn::Vec128<float, kLanes> Fraction(hn::Vec128<float, kLanes> x) {
  return hn::Vec128<float, kLanes>{_mm_getmant_ps(x.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan)};
}

// log(x) = exponent * log(2) + returned logarithm. f - f^2 / 2 + f^3 P(f) for f = fraction - 1; P is a
// minimax fit of log1p with a relative error of 5e-9.
template <class D, class V>
HWY_INLINE V LogOfFraction(D d, V x, V& exponent) {
  const V one = hn::Set(d, 1.0f);
  const V fraction = Fraction(x);
  exponent = Exponent(x);
  exponent = hn::MaskedAddOr(exponent, hn::Lt(fraction, one), exponent, one);
  const V f = hn::Sub(fraction, one);
  V p = hn::Set(d, -0.0450749174f);
  for (const float c : {0.104630962f, -0.131612614f, 0.144784063f, -0.166473061f, 0.199908599f,
                        -0.250000954f, 0.333334506f, -0.5f}) {
    p = hn::MulAdd(p, f, hn::Set(d, c));
  }
  return hn::MulAdd(hn::Mul(f, f), p, f);
}
#endif

template <class D, class V>
HWY_INLINE V SafeLog(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  V exponent;
  const V log = LogOfFraction(d, x, exponent);
  return hn::MulAdd(exponent, hn::Set(d, 0.693147181f), log);
#else
  return LimitedLog(d, x, hn::Zero(d), hn::Log(d, x));
#endif
}
template <class D, class V>
HWY_INLINE V SafeLog2(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  V exponent;
  const V log = LogOfFraction(d, x, exponent);
  return hn::MulAdd(log, hn::Set(d, 1.44269504f), exponent);
#else
  return LimitedLog(d, x, hn::Zero(d), hn::Log2(d, x));
#endif
}
template <class D, class V>
HWY_INLINE V SafeLog10(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  V exponent;
  const V log = LogOfFraction(d, x, exponent);
  // log10(2) in two parts: near 0.75 both terms cancel.
  const V low =
      hn::MulAdd(exponent, hn::Set(d, 4.60503898e-6f), hn::Mul(log, hn::Set(d, 0.434294482f)));
  return hn::MulAdd(exponent, hn::Set(d, 0.301025391f), low);
#else
  return LimitedLog(d, x, hn::Zero(d), hn::Log10(d, x));
#endif
}

// tanh(x) = (1 - t) / (1 + t) with t = exp(-2 |x|), and for |x| < 0.55, where the difference
// cancels, x + x^3 * P(x^2), a minimax fit with a relative error of 1.2e-9.
template <class D, class V>
HWY_INLINE V SafeTanh(D d, V x) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const V one = hn::Set(d, 1.0f);
  const V t = ExpOfNegatedAbs(d, hn::Add(x, x));
  const V large = hn::Mul(hn::Sub(one, t), ReciprocalOfNormal(d, hn::Add(one, t)));
  const V x2 = hn::Mul(x, x);
  V p = hn::Set(d, -0.00620741304f);
  p = hn::MulAdd(p, x2, hn::Set(d, 0.0210272074f));
  p = hn::MulAdd(p, x2, hn::Set(d, -0.0538422763f));
  p = hn::MulAdd(p, x2, hn::Set(d, 0.133324996f));
  p = hn::MulAdd(p, x2, hn::Set(d, -0.333333164f));
  const V small = hn::MulAdd(hn::Mul(x, x2), p, x);
  const auto is_small = hn::Lt(hn::Abs(x), hn::Set(d, 0.55f));
  return hn::IfThenElse(is_small, small, hn::CopySign(large, x));
#else
  const V y = hn::Tanh(d, hn::Clamp(x, hn::Set(d, -20.0f), hn::Set(d, 20.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
#endif
}

// 1 / (1 + exp(-x)) as 1 / (1 + e) for x >= 0 and e / (1 + e) below, with e = exp(-|x|).
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = ExpOfNegatedAbs(d, x);
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  return hn::Mul(numerator, ReciprocalOfNormal(d, hn::Add(one, e)));
}

// cos(x) for |x| <= 39000: |x| = (n + 1/2) pi + r with |r| <= pi / 2, and a polynomial of sin(r) with
// the constants of Highway's Cos. Compiled for AVX-512, that one has a false dependency on the previous
// vector, in its conversion to integers.
template <class D, class V>
HWY_INLINE V CosInRange(D d, V x) {
  const V magic = hn::Set(d, 0x1.8p23f);  // the low bits of a sum with it are an integer
  const V y = hn::Abs(x);
  const V shifted = hn::Add(hn::MulSub(y, hn::Set(d, 0.31830988618f), hn::Set(d, 0.5f)), magic);
  const V n = hn::Sub(shifted, magic);
  const V odd = hn::MulAdd(n, hn::Set(d, 2.0f), hn::Set(d, 1.0f));
  V r = y;
  for (const float part : {-1.5703125f, -0.00048351287841796875f, -3.13855707645416259766e-7f,
                           -6.0771006282767103810e-11f}) {
    r = hn::MulAdd(odd, hn::Set(d, part), r);
  }
  const hn::RebindToUnsigned<D> du;
  const auto sign = hn::ShiftLeft<31>(hn::Not(hn::BitCast(du, shifted)));
  r = hn::BitCast(d, hn::Xor(hn::BitCast(du, r), sign));
  const V r2 = hn::Mul(r, r);
  V p = hn::Set(d, 2.6083159809786593541503e-6f);
  p = hn::MulAdd(p, r2, hn::Set(d, -1.981069071916863322258e-4f));
  p = hn::MulAdd(p, r2, hn::Set(d, 8.33307858556509017944336e-3f));
  p = hn::MulAdd(p, r2, hn::Set(d, -1.66666597127914428710938e-1f));
  return hn::MulAdd(hn::Mul(p, r2), r, r);
}

// Rational minimax approximation on [-4, 4], beyond which erf is ±1 in float. Coefficients: Eigen's
// generic_fast_erf.
template <class D, class V>
HWY_INLINE V Erf(D d, V value) {
  const V x = hn::Clamp(value, hn::Set(d, -4.0f), hn::Set(d, 4.0f));
  const V x2 = hn::Mul(x, x);
  V p = hn::Set(d, -2.72614225801306e-10f);
  p = hn::MulAdd(p, x2, hn::Set(d, 2.77068142495902e-08f));
  p = hn::MulAdd(p, x2, hn::Set(d, -2.10102402082508e-06f));
  p = hn::MulAdd(p, x2, hn::Set(d, -5.69250639462346e-05f));
  p = hn::MulAdd(p, x2, hn::Set(d, -7.34990630326855e-04f));
  p = hn::MulAdd(p, x2, hn::Set(d, -2.95459980854025e-03f));
  p = hn::MulAdd(p, x2, hn::Set(d, -1.60960333262415e-02f));
  p = hn::Mul(p, x);
  V q = hn::Set(d, -1.45660718464996e-05f);
  q = hn::MulAdd(q, x2, hn::Set(d, -2.13374055278905e-04f));
  q = hn::MulAdd(q, x2, hn::Set(d, -1.68282697438203e-03f));
  q = hn::MulAdd(q, x2, hn::Set(d, -7.37332916720468e-03f));
  q = hn::MulAdd(q, x2, hn::Set(d, -1.42647390514189e-02f));
  return hn::IfThenElse(hn::IsNaN(value), value, hn::Mul(p, ReciprocalOfNormal(d, q)));
}

// Returns a^2 - square exactly. Precondition: `square` is a^2 rounded.
template <class D, class V>
HWY_INLINE V SquareError(D d, V a, V square) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, a, square);
#else
  // Dekker's product: halves of 12 bits, whose products are exact.
  const hn::RebindToUnsigned<D> du;
  const V high = hn::BitCast(d, hn::And(hn::BitCast(du, a), hn::Set(du, 0xfffff000u)));
  const V low = hn::Sub(a, high);
  const V cross = hn::Mul(hn::Add(high, high), low);
  return hn::Add(hn::Add(hn::Sub(hn::Mul(high, high), square), cross), hn::Mul(low, low));
#endif
}

// The normal distribution beyond a = scale * size >= 0: exp(-a^2 / 2) * t * P(t) with
// t = 1 / (1 + 0.35 a). P is a minimax fit of erfcx with a relative error of 3.2e-8. The rounding
// error of size^2 is computed and applied as a factor, since exp would multiply it.
// Preconditions: a <= 15 or NaN, and half = scale^2 / 2 is a power of two.
template <class D, class V>
HWY_INLINE V NormalTail(D d, V size, float scale, float half) {
  const V t = ReciprocalOfNormal(d, hn::MulAdd(hn::Set(d, 0.35f * scale), size, hn::Set(d, 1.0f)));
  V p = hn::Set(d, -0.0291576255f);
  for (const float c : {0.144029751f, -0.255836785f, 0.159317404f, -0.0232109185f, 0.105551951f,
                        0.119821414f, 0.139863506f, 0.139621302f}) {
    p = hn::MulAdd(p, t, hn::Set(d, c));
  }
  const V square = hn::Mul(size, size);
  const V rest = SquareError(d, size, square);
  const V exponent = hn::Mul(hn::Set(d, -half), square);
  const V q = hn::Mul(ExpInRange(d, exponent), hn::Mul(p, t));
  return hn::NegMulAdd(hn::Mul(hn::Set(d, half), rest), q, q);
}

// min(|x|, highest); NaN stays NaN.
template <class D, class V>
HWY_INLINE V BoundedAbs(D d, V x, float highest) {
#if HWY_ARCH_X86
  // Min gives its second operand where one is NaN.
  return hn::Min(hn::Set(d, highest), hn::Abs(x));
#else
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(hn::Set(d, highest), hn::Abs(x)));
#endif
}

// The normal distribution below x: 0.5 * erfc(-x / sqrt(2)), without cancellation in either tail.
// The tail underflows beyond 15.
template <class D, class V>
HWY_INLINE V NormalCdf(D d, V x) {
  const V tail = NormalTail(d, BoundedAbs(d, x, 15.0f), 1.0f, 0.5f);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
}

// 1 - erf(x), without cancellation. Underflows beyond 10.1.
template <class D, class V>
HWY_INLINE V Erfc(D d, V x) {
  const V two = hn::Set(d, 2.0f);
  const V tail = hn::Mul(two, NormalTail(d, BoundedAbs(d, x, 10.5f), 1.41421356f, 1.0f));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(two, tail), tail);
}

// Sum of all elements: per lane, then across lanes.
template <class D>
HWY_INLINE float SumOf(D d, const float* HWY_RESTRICT in, size_t n) {
  const size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::Add(sum0, hn::LoadU(d, in + i));
    sum1 = hn::Add(sum1, hn::LoadU(d, in + i + lanes));
  }
  for (; i < n; i += lanes) sum0 = hn::Add(sum0, hn::LoadN(d, in + i, n - i));
  return hn::ReduceSum(d, hn::Add(sum0, sum1));
}

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#endif
