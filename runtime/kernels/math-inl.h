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
//   GeluErf      12 ULP
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

// A whole number plus this float of 24 bits is exact: its low bits are the number, for |n| < 2^22.
inline constexpr float kToWhole = 0x1.8p23f;

// exp(r) * 2^n for |r| <= ln 2 / 2: a minimax polynomial with a relative error of 3.2e-9.
template <class D, class V>
HWY_INLINE V ExpTimesPowerOf2(D d, V r, V n) {
  V p = hn::Set(d, 0.00138206652f);
  for (const float c : {0.0083686756f, 0.0416682661f, 0.166665211f, 0.49999994f, 1.0f, 1.0f}) {
    p = hn::MulAdd(p, r, hn::Set(d, c));
  }
  return TimesPowerOf2(p, n);
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
  const V to_whole = hn::Set(d, kToWhole);
  const V n = hn::Sub(hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), to_whole), to_whole);
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

// x / y for |y| in [2^-100, 2^100] or NaN, and |x| <= 2^20 * |y|. Error: 1 ULP.
template <class D, class V>
HWY_INLINE V DivideByNormal(D d, V x, V y) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // One step of Newton's method doubles the 14 bits of the approximation.
  const V r = hn::ApproximateReciprocal(y);
  const V q = hn::Mul(x, r);
  return hn::MulAdd(hn::NegMulAdd(y, q, x), r, q);
#else
  return hn::Div(x, y);
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

// tanh(x) = p q / (q^2 + p^2 / 4), the tangent of twice the angle, with p / q = 2 tanh(x / 2) as
// x P(x^2) / Q(x^2). Errors of p / q vanish where tanh is near 1, and all coefficients are positive. They
// are a minimax fit with a relative error of 1e-8 on [-9.02, 9.02], beyond which tanh is ±1, times 1.82:
// below 2 roundings are small in relation to the value.
template <class D, class V>
HWY_INLINE V SafeTanh(D d, V value) {
  const V bound = hn::Set(d, 9.02f);
  // Max and Min give their second operand where one is NaN, or NaN.
  const V x = hn::Min(bound, hn::Max(hn::Neg(bound), value));
  const V x2 = hn::Mul(x, x);
  V p = hn::MulAdd(hn::Set(d, 0.00020612247f), x2, hn::Set(d, 0.054104865f));
  p = hn::Mul(hn::MulAdd(p, x2, hn::Set(d, 1.82f)), x);
  V q = hn::MulAdd(hn::Set(d, 2.198065e-06f), x2, hn::Set(d, 0.0021871591f));
  q = hn::MulAdd(q, x2, hn::Set(d, 0.20577145f));
  q = hn::MulAdd(q, x2, hn::Set(d, 1.82f));
  const V quarter = hn::Mul(p, hn::Set(d, 0.25f));
  return DivideByNormal(d, hn::Mul(p, q), hn::MulAdd(p, quarter, hn::Mul(q, q)));
}

// 1 / (1 + exp(-x)) as 1 / (1 + e) for x >= 0 and e / (1 + e) below, with e = exp(-|x|).
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V e = ExpOfNegatedAbs(d, x);
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  return DivideByNormal(d, numerator, hn::Add(one, e));
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
  return hn::IfThenElse(hn::IsNaN(value), value, DivideByNormal(d, p, q));
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

// The normal distribution beyond a = scale * size >= 0: exp(-half * size^2) * P(a) / Q(a), where P / Q is
// a minimax fit of erfcx with a relative error of 1.4e-7 and positive coefficients. size^2 is reduced by
// multiples of ln 2 / half before it is rounded, since exp would multiply the rounding error.
// Preconditions: a <= 15 or NaN, and half = scale^2 / 2 is a power of two.
template <class D, class V>
HWY_INLINE V NormalTail(D d, V size, double scale, double half) {
  const double s = scale, s2 = s * s;
  const auto set = [&](double c) HWY_ATTR { return hn::Set(d, static_cast<float>(c)); };
  V p = set(2.36926354e-07 * s2 * s2);
  for (const double c : {0.0143769654 * s2 * s, 0.107670486 * s2, 0.33998403 * s, 0.49999994}) {
    p = hn::MulAdd(p, size, set(c));
  }
  V q = set(0.0360656567 * s2 * s2);
  for (const double c : {0.269332618 * s2 * s, 0.894551873 * s2, 1.47784567 * s, 1.0}) {
    q = hn::MulAdd(q, size, set(c));
  }
  const V square = hn::Mul(size, size), to_whole = set(kToWhole);
  const V n = hn::Sub(hn::MulAdd(square, set(-1.44269504088896341 * half), to_whole), to_whole);
  // r = size^2 + n * ln 2 / half; the product with the high part of ln 2 is exact.
  const V whole = hn::Mul(n, set(0.693145751953125 / half));
#if HWY_NATIVE_FMA
  V r = hn::MulAdd(size, size, whole);
#else
  V r = hn::Add(hn::Add(square, whole), SquareError(d, size, square));
#endif
  r = hn::MulAdd(n, set(1.428606765330187045e-6 / half), r);
  // exp(-half * r): minimax with a relative error of 9.2e-8.
  const double h = -half, h2 = h * h;
  V e = set(0.00828936789 * h2 * h2 * h);
  for (const double c :
       {0.0418981872 * h2 * h2, 0.166676521 * h2 * h, 0.499991477 * h2, 0.999999702 * h, 1.0}) {
    e = hn::MulAdd(e, r, set(c));
  }
  return TimesPowerOf2(hn::Mul(e, DivideByNormal(d, p, q)), n);
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

// x times the normal distribution below x, which is 0.5 * erfc(-x / sqrt(2)): max(x, 0) - |x| * tail,
// without cancellation. The tail underflows beyond 15. -inf * 0 is NaN, as in the reference kernel.
template <class D, class V>
HWY_INLINE V GeluErf(D d, V x) {
  const V size = BoundedAbs(d, x, 15.0f);
  const V tail = NormalTail(d, size, 1.0, 0.5);
  return hn::MulAdd(hn::Min(hn::Neg(size), x), tail, hn::Max(hn::Set(d, -0.0f), x));
}

// 1 - erf(x), without cancellation. Underflows beyond 10.1.
template <class D, class V>
HWY_INLINE V Erfc(D d, V x) {
  const V two = hn::Set(d, 2.0f);
  const V tail = hn::Mul(two, NormalTail(d, BoundedAbs(d, x, 10.5f), 1.41421356237309505, 1.0));
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
