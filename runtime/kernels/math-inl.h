// Elementary functions on vectors of floats: Highway's, extended to all inputs (NaN in gives NaN
// out, limits at the ends), and some that Highway lacks.
//
// Included once per target inside foreach_target; see hwy/foreach_target.h. Contracts (maximal
// error over all floats):
//   SafeExp      2 ULP; 0 below -104, inf above 89
//   SafeLog      4 ULP; -inf at 0, NaN below
//   SafeTanh     4 ULP
//   Sigmoid      4 ULP
//   Erf          absolute error 3e-7
//   ErfcOfPositive  12 ULP
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

template <class D, class V>
HWY_INLINE V SafeExp(D d, V x) {
  const V y = hn::Exp(d, hn::Clamp(x, hn::Set(d, -104.0f), hn::Set(d, 104.0f)));
  const V bounded = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228394f)),
                                   hn::Set(d, std::numeric_limits<float>::infinity()), y);
  return hn::IfThenElse(hn::IsNaN(x), x,
                        hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -103.97f)), bounded));
}

template <class D, class V>
HWY_INLINE V SafeLog(D d, V x) {
  const V inf = hn::Set(d, std::numeric_limits<float>::infinity());
  const V zero = hn::Zero(d);
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Eq(x, inf), inf, y);
  y = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class D, class V>
HWY_INLINE V SafeTanh(D d, V x) {
  const V y = hn::Tanh(d, hn::Clamp(x, hn::Set(d, -20.0f), hn::Set(d, 20.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, SafeExp(d, hn::Neg(x))));
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
  return hn::IfThenElse(hn::IsNaN(value), value, hn::Div(p, q));
}

// erfc(z) for z >= 0 until it underflows: a Chebyshev fit (Numerical Recipes, 2nd edition, section
// 6.2, "erfcc"). z^2 is split into an exactly representable square and a small remainder; the
// rounding error would otherwise grow with z^2.
template <class D, class V>
HWY_INLINE V ErfcOfPositive(D d, V value) {
  const hn::RebindToUnsigned<D> du;
  const V z = hn::Min(value, hn::Set(d, 20.0f));
  const V t = hn::Div(hn::Set(d, 1.0f), hn::MulAdd(hn::Set(d, 0.5f), z, hn::Set(d, 1.0f)));
  V p = hn::Set(d, 0.17087277f);
  for (const float c : {-0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f, -0.18628806f,
                        0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f}) {
    p = hn::MulAdd(p, t, hn::Set(d, c));
  }
  const V high = hn::BitCast(d, hn::And(hn::BitCast(du, z), hn::Set(du, 0xfffff000u)));
  const V rest = hn::Mul(hn::Sub(z, high), hn::Add(z, high));
  const V factor = hn::Mul(t, SafeExp(d, hn::Sub(p, rest)));
  return hn::Mul(factor, SafeExp(d, hn::Neg(hn::Mul(high, high))));
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
