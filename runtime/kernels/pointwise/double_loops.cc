// Loops of float64. On x86 before AVX-512, and without fused multiply-add, the loops call the C library for
// each element: vectors of at most four lanes would gain less than their code costs.
#include <cmath>
#include <limits>

#include "runtime/core/python_floats.h"
#include "runtime/kernels/pointwise/loops.h"

// Functions of one operand with loops for float64.
#define BELAY_DOUBLE_OPS(X) \
  X(Acos)                   \
  X(Acosh)                  \
  X(Asin)                   \
  X(Asinh)                  \
  X(Atan)                   \
  X(Atanh)                  \
  X(Ceil)                   \
  X(Cos)                    \
  X(Cosh)                   \
  X(Erf)                    \
  X(Erfc)                   \
  X(Exp)                    \
  X(Expm1)                  \
  X(Floor)                  \
  X(GeluErf)                \
  X(GeluTanh)               \
  X(Log)                    \
  X(Log10)                  \
  X(Log1p)                  \
  X(Log2)                   \
  X(PowOfBase)              \
  X(Reciprocal) X(Round) X(Rsqrt) X(Sigmoid) X(Sin) X(Sinh) X(Sqrt) X(Tan) X(Tanh) X(Trunc)
// Functions of two operands.
#define BELAY_DOUBLE_PAIR_OPS(X) \
  X(Atan2) X(Copysign) X(FloorDiv) X(Fmod) X(Glu) X(Hypot) X(PowTensor) X(Remainder) X(TruncDiv)

#ifndef BELAY_EXACT_DOUBLES
#define BELAY_EXACT_DOUBLES
namespace belay {
namespace {

[[maybe_unused]] void EachLgamma(const void* const* operands, void* result, size_t n,
                                 const PointwiseParams&) {
  const float* in = static_cast<const float*>(operands[0]);
  float* out = static_cast<float*>(result);
  int sign;
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>(::lgamma_r(static_cast<double>(in[i]), &sign));
  }
}

double ExactSigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

// std::lgamma would write to a global variable.
double ExactLgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// The C library's function for one element.
double Exact(PointwiseOp op, double x) {
  switch (op) {
    case PointwiseOp::kLgamma:
      return ExactLgamma(x);
    case PointwiseOp::kPowOfBase:
      return std::exp2(x);
    case PointwiseOp::kAcos:
      return std::acos(x);
    case PointwiseOp::kAcosh:
      return std::acosh(x);
    case PointwiseOp::kAsin:
      return std::asin(x);
    case PointwiseOp::kAsinh:
      return std::asinh(x);
    case PointwiseOp::kAtan:
      return std::atan(x);
    case PointwiseOp::kAtanh:
      return std::atanh(x);
    case PointwiseOp::kCeil:
      return std::ceil(x);
    case PointwiseOp::kCos:
      return std::cos(x);
    case PointwiseOp::kCosh:
      return std::cosh(x);
    case PointwiseOp::kErf:
      return std::erf(x);
    case PointwiseOp::kErfc:
      return std::erfc(x);
    case PointwiseOp::kExp:
      return std::exp(x);
    case PointwiseOp::kExpm1:
      return std::expm1(x);
    case PointwiseOp::kFloor:
      return std::floor(x);
    case PointwiseOp::kGeluErf:  // erfc would multiply a rounding error of the quotient
      return static_cast<double>(0.5L * x * std::erfc(x * -0.707106781186547524400844362104849L));
    case PointwiseOp::kGeluTanh:
      return x * ExactSigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x));
    case PointwiseOp::kLog:
      return std::log(x);
    case PointwiseOp::kLog10:
      return std::log10(x);
    case PointwiseOp::kLog1p:
      return std::log1p(x);
    case PointwiseOp::kLog2:
      return std::log2(x);
    case PointwiseOp::kReciprocal:
      return 1 / x;
    case PointwiseOp::kRound:
      return std::nearbyint(x);
    case PointwiseOp::kRsqrt:
      return 1 / std::sqrt(x);
    case PointwiseOp::kSigmoid:
      return ExactSigmoid(x);
    case PointwiseOp::kSin:
      return std::sin(x);
    case PointwiseOp::kSinh:
      return std::sinh(x);
    case PointwiseOp::kSqrt:
      return std::sqrt(x);
    case PointwiseOp::kTan:
      return std::tan(x);
    case PointwiseOp::kTanh:
      return std::tanh(x);
    default:
      return std::trunc(x);
  }
}

double Exact(PointwiseOp op, double a, double b) {
  switch (op) {
    case PointwiseOp::kAtan2:
      return std::atan2(a, b);
    case PointwiseOp::kCopysign:
      return std::copysign(a, b);
    case PointwiseOp::kFloorDiv:
      return PythonFloatFloorDiv(a, b);
    case PointwiseOp::kFmod:
      return std::fmod(a, b);
    case PointwiseOp::kGlu:
      return a * ExactSigmoid(b);
    case PointwiseOp::kHypot:
      return std::hypot(a, b);
    case PointwiseOp::kPowTensor:
      return std::pow(a, b);
    case PointwiseOp::kRemainder: {
      const double r = std::fmod(a, b);
      return r != 0 && ((b < 0) != (r < 0)) ? r + b : r;
    }
    default:
      return std::trunc(a / b);
  }
}

template <PointwiseOp kOp>
[[maybe_unused]] void Each(const void* const* operands, void* result, size_t n,
                           const PointwiseParams&) {
  const double* in = static_cast<const double*>(operands[0]);
  double* out = static_cast<double*>(result);
  for (size_t i = 0; i < n; ++i) out[i] = Exact(kOp, in[i]);
}
template <PointwiseOp kOp>
void EachPair(const void* const* operands, void* result, size_t n, const PointwiseParams&) {
  const double* a = static_cast<const double*>(operands[0]);
  const double* b = static_cast<const double*>(operands[1]);
  double* out = static_cast<double*>(result);
  for (size_t i = 0; i < n; ++i) out[i] = Exact(kOp, a[i], b[i]);
}
// Scalar parameters: alpha, scale and input_scale.
[[maybe_unused]] void EachElu(const void* const* operands, void* result, size_t n,
                              const PointwiseParams& params) {
  const double* in = static_cast<const double*>(operands[0]);
  double* out = static_cast<double*>(result);
  const double scale = params.Get<double>(1), factor = params.Get<double>(0) * scale;
  for (size_t i = 0; i < n; ++i) {
    out[i] = in[i] < 0 ? std::expm1(in[i] * params.Get<double>(2)) * factor : in[i] * scale;
  }
}

}  // namespace
}  // namespace belay
#endif  // BELAY_EXACT_DOUBLES

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/pointwise/double_loops.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "runtime/kernels/pointwise/domain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace belay {
namespace HWY_NAMESPACE {
namespace {  // the loops have the names of those of float32

#if HWY_NATIVE_FMA && HWY_HAVE_FLOAT64 && (!HWY_ARCH_X86 || HWY_TARGET <= HWY_AVX3)
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
constexpr D kTag;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();

HWY_INLINE V Number(double x) { return hn::Set(kTag, x); }

template <size_t kCount>
HWY_INLINE V Polynomial(V x, const double (&coefficients)[kCount]) {
  V p = Number(coefficients[0]);
  for (size_t i = 1; i < kCount; ++i) p = hn::MulAdd(p, x, Number(coefficients[i]));
  return p;
}

// The lanes of `kept` of y, and the C library's result for the others.
HWY_NOINLINE V WithExact(V x, V y, M kept, PointwiseOp op) {
  HWY_ALIGN double in[hn::MaxLanes(kTag)];
  hn::Store(x, kTag, in);
  return ReplaceLanes(kTag, y, kept, [&](size_t i) { return Exact(op, in[i]); });
}
HWY_NOINLINE V WithExact(V a, V b, V y, M kept, PointwiseOp op) {
  HWY_ALIGN double left[hn::MaxLanes(kTag)], right[hn::MaxLanes(kTag)];
  hn::Store(a, kTag, left);
  hn::Store(b, kTag, right);
  return ReplaceLanes(kTag, y, kept, [&](size_t i) { return Exact(op, left[i], right[i]); });
}

// out = function(x) for x in [lowest, highest], else that of the C library.
template <class Function>
HWY_INLINE void Map(PointwiseOp op, const void* const* operands, void* result, size_t n,
                    double lowest, double highest, const Function& function) {
  const double* in = static_cast<const double*>(operands[0]);
  double* out = static_cast<double*>(result);
  const size_t lanes = hn::Lanes(kTag);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    const V x = hn::LoadNOr(Number(0.75), kTag, in + i, count);
    V y = function(x);
    const M inside = hn::And(hn::Ge(x, Number(lowest)), hn::Le(x, Number(highest)));
    if (HWY_UNLIKELY(!hn::AllTrue(kTag, inside))) y = WithExact(x, y, inside, op);
    hn::StoreN(y, kTag, out + i, count);
  }
}

// out = function(a, b, usual) for the lanes of `usual`, else that of the C library.
template <class Function>
HWY_INLINE void MapPairs(PointwiseOp op, const void* const* operands, void* result, size_t n,
                         const Function& function) {
  const double* a = static_cast<const double*>(operands[0]);
  const double* b = static_cast<const double*>(operands[1]);
  double* out = static_cast<double*>(result);
  const size_t lanes = hn::Lanes(kTag);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t count = HWY_MIN(lanes, n - i);
    const V x = hn::LoadNOr(Number(1), kTag, a + i, count);
    const V y = hn::LoadNOr(Number(1), kTag, b + i, count);
    M usual = hn::Eq(Number(0), Number(0));
    V z = function(x, y, usual);
    if (HWY_UNLIKELY(!hn::AllTrue(kTag, usual))) z = WithExact(x, y, z, usual, op);
    hn::StoreN(z, kTag, out + i, count);
  }
}

// x * 2^n for n in [-1100, 1100]; `shifted` is 0x1.8p52 + n. Rounds once below the normal numbers.
HWY_INLINE V TimesPower(V x, V n, V shifted) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return V{_mm512_scalef_pd(x.raw, n.raw)};
#else
  const hn::RebindToSigned<D> di;
  const auto whole = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, Number(0x1.8p52)));
  const auto half = hn::ShiftRight<1>(whole);
  const auto power = [&](auto exponent) HWY_ATTR {
    return hn::BitCast(kTag, hn::ShiftLeft<52>(hn::Add(exponent, hn::Set(di, int64_t{1023}))));
  };
  return hn::Mul(hn::Mul(x, power(half)), power(hn::Sub(whole, half)));
#endif
}

// x = n * ln 2 + r with |r| <= ln 2 / 2, and exp(r) - 1 = r + r^2 Q(r). Q is a minimax fit; the
// relative error of exp(r) is 1.7e-17, of exp(r) - 1 4.1e-17.
struct Reduced {
  V n, shifted, r, minus_one;
};
HWY_INLINE Reduced Reduce(V x) {
  static constexpr double kQ[] = {2.510038549551032e-08,  2.7620088445409746e-07,
                                  2.7557268459997064e-06, 2.4801521295954376e-05,
                                  0.00019841269863053618, 0.0013888888917213717,
                                  0.008333333333330062,   0.04166666666662413,
                                  0.16666666666666669,    0.5000000000000001};
  const V magic = Number(0x1.8p52);
  Reduced e;
  e.shifted = hn::MulAdd(x, Number(1.4426950408889634), magic);
  e.n = hn::Sub(e.shifted, magic);
  e.r = hn::NegMulAdd(e.n, Number(7.440617110012397e-11),
                      hn::NegMulAdd(e.n, Number(0x1.62e42fefp-1), x));
  e.minus_one = hn::MulAdd(hn::Mul(e.r, e.r), Polynomial(e.r, kQ), e.r);
  return e;
}

// exp(x) for x in [-760, 760] or NaN.
HWY_INLINE V ExpInRange(V x) {
  const Reduced e = Reduce(x);
  return TimesPower(hn::Add(e.minus_one, Number(1)), e.n, e.shifted);
}

// 2^x for x in [-1076, 1024].
HWY_INLINE V Exp2InRange(V x) {
  const V magic = Number(0x1.8p52), shifted = hn::Add(x, magic), n = hn::Sub(shifted, magic);
  const Reduced e = Reduce(hn::Mul(hn::Sub(x, n), Number(0.6931471805599453)));
  return TimesPower(hn::Add(e.minus_one, Number(1)), n, shifted);
}

// exp(x) - 1 for x in [-708, 709].
HWY_INLINE V Expm1InRange(V x) {
  const Reduced e = Reduce(x);
  const V power = TimesPower(Number(1), e.n, e.shifted);
  return hn::CopySign(hn::MulAdd(power, e.minus_one, hn::Sub(power, Number(1))), x);
}

// min(|x|, highest), in which NaN stays NaN.
HWY_INLINE V BoundedSize(V x, double highest) {
  const V size = hn::Abs(x);
  return hn::IfThenElse(hn::Gt(size, Number(highest)), Number(highest), size);
}

HWY_INLINE V SigmoidOf(V x) {
  const V e = ExpInRange(hn::Neg(BoundedSize(x, 745.5)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, Number(0)), e, Number(1)), hn::Add(e, Number(1)));
}

// t / (t + 2) for t = exp(-2 |x|) - 1 is -tanh(|x|).
HWY_INLINE V TanhOf(V x) {
  const V t = Expm1InRange(hn::Mul(Number(-2), BoundedSize(x, 20)));
  return hn::CopySign(hn::Div(t, hn::Add(t, Number(2))), x);
}

// exp(-a^2) P(t) / (1 + 2 a) with t = (a - 4) / (a + 4) is erfc(a) for a in [0, 28]; P is a minimax
// fit of exp(a^2) erfc(a) (1 + 2 a) with a relative error of 6.9e-17. `square` + `rest` is a^2: exp
// would multiply a rounding error of the square.
HWY_NOINLINE V ErfcOf(V a, V square, V rest) {
  static constexpr double kP[] = {
      -8.906208663934622e-09, -9.456271524915692e-09,  1.0181247475149971e-07,
      5.883230632914435e-08,  -8.187662562915786e-07,  3.0994402010831546e-07,
      5.706827475068264e-06,  -1.1232086023404734e-05, -2.4398609353512906e-05,
      0.00015062567141369432, -0.00019925669640425623, -0.0007577743061693371,
      0.005031969952329153,   -0.016197733895959854,   0.03716751554242076,
      -0.06633036582729279,   0.09373283499798463,     -0.10103906603558063,
      0.06809705425470212,    0.015379652102606133,    -0.13962111684056255,
      1.2329951186255526};
  const V higher = hn::Add(a, Number(4)), scale = hn::MulAdd(a, Number(2), Number(1));
  // One division for both quotients.
  const V inverse = hn::Div(Number(1), hn::Mul(higher, scale));
  const V t = hn::Mul(hn::Sub(a, Number(4)), hn::Mul(scale, inverse));
  const V p = hn::Mul(Polynomial(t, kP), hn::Mul(higher, inverse));
  const V e = ExpInRange(hn::Neg(square));
  return hn::Mul(p, hn::NegMulAdd(e, rest, e));
}

HWY_INLINE V ErfcOfAbs(V x) {
  const V a = BoundedSize(x, 27.5), square = hn::Mul(a, a);
  return ErfcOf(a, square, hn::MulSub(a, a, square));
}

HWY_INLINE V ErfcOfAny(V x) {
  const V tail = ErfcOfAbs(x);
  return hn::IfThenElse(hn::Lt(x, Number(0)), hn::Sub(Number(2), tail), tail);
}

// x times the normal distribution below x: max(x, 0) - |x| erfc(|x| / sqrt(2)) / 2.
HWY_INLINE V GeluOf(V x) {
  const V size = BoundedSize(x, 38.8), square = hn::Mul(size, size);
  const V rest = hn::MulSub(size, size, square), half = Number(0.5);
  const V tail =
      ErfcOf(hn::Mul(size, Number(0.7071067811865476)), hn::Mul(half, square), hn::Mul(half, rest));
  const V negative = hn::Neg(hn::Mul(hn::Mul(half, hn::Abs(x)), tail));
  return hn::IfThenElse(hn::Lt(x, Number(0)), negative, hn::Add(x, negative));
}

// x P(x^2) for |x| < 1, with a relative error of 8.1e-18; else 1 - erfc(x).
HWY_INLINE V ErfOf(V x) {
  static constexpr double kP[] = {
      -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07,
      1.6447424703317362e-06, -1.492473690741966e-05, 0.00012055294904839707,
      -0.0008548325975389692, 0.0052239776071164225,  -0.02686617064323777,
      0.11283791670945006,    -0.37612638903183543,   1.1283791670955126};
  const V near = hn::Mul(x, Polynomial(hn::Mul(x, x), kP));
  const V far = hn::CopySign(hn::Sub(Number(1), ErfcOfAbs(x)), x);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), Number(1)), near, far);
}

HWY_INLINE V GeluTanhOf(V x) {
  const V x3 = hn::Mul(hn::Mul(x, x), x);
  return hn::Mul(
      x, SigmoidOf(hn::Mul(Number(1.5957691216057308), hn::MulAdd(Number(0.044715), x3, x))));
}

// Odd functions that are the identity near zero: f(|x|) with the sign of x.
HWY_INLINE V Odd(V x, V y) {
  return hn::IfThenElse(hn::Lt(hn::Abs(x), Number(1e-9)), x, hn::CopySign(y, x));
}

HWY_INLINE V AsinhOf(V x) {
  const V size = hn::Abs(x), square = hn::Mul(x, x), one = Number(1);
  const V root = hn::Sqrt(hn::Add(square, one));
  return Odd(x, hn::CallLog1p(kTag, hn::Add(size, hn::Div(square, hn::Add(one, root)))));
}
HWY_INLINE V AcoshOf(V x) {
  const V t = hn::Sub(x, Number(1));
  return hn::CallLog1p(kTag, hn::Add(t, hn::Sqrt(hn::MulAdd(t, t, hn::Add(t, t)))));
}
HWY_INLINE V AtanhOf(V x) {
  const V size = hn::Abs(x), quotient = hn::Div(hn::Add(size, size), hn::Sub(Number(1), size));
  return Odd(x, hn::Mul(Number(0.5), hn::CallLog1p(kTag, quotient)));
}
HWY_INLINE V SinhOf(V x) {
  const V e = Expm1InRange(hn::Abs(x));
  return hn::CopySign(hn::Mul(Number(0.5), hn::Add(e, hn::Div(e, hn::Add(e, Number(1))))), x);
}
HWY_INLINE V CoshOf(V x) {
  const V e = ExpInRange(hn::Abs(x));
  return hn::Mul(Number(0.5), hn::Add(e, hn::Div(Number(1), e)));
}

// atan(min / max) of the magnitudes, moved to the octant of (x, y).
HWY_INLINE V Atan2Of(V y, V x, M& usual) {
  const V height = hn::Abs(y), width = hn::Abs(x), larger = hn::Max(height, width);
  usual = hn::And(hn::And(hn::Lt(height, Number(kInf)), hn::Lt(width, Number(kInf))),
                  hn::Gt(larger, Number(0)));
  const V t = hn::Div(hn::Min(height, width), larger);
  V angle = Odd(t, hn::CallAtan(kTag, t));
  angle = hn::IfThenElse(hn::Gt(height, width), hn::Sub(Number(1.5707963267948966), angle), angle);
  angle = hn::IfThenElse(hn::Lt(x, Number(0)), hn::Sub(Number(3.141592653589793), angle), angle);
  return hn::CopySign(angle, y);
}

// |a| - q |b| is exact for the quotient q rounded down, or for its neighbors, if q < 2^52.
HWY_INLINE V FmodOf(V a, V b, M& usual) {
  const V size = hn::Abs(a), divisor = hn::Abs(b);
  const V quotient = hn::Floor(hn::Div(size, divisor));
  usual = hn::And(hn::And(hn::Lt(quotient, Number(0x1p52)), hn::Gt(divisor, Number(0))),
                  hn::Lt(divisor, Number(kInf)));
  V r = hn::NegMulAdd(quotient, divisor, size);
  r = hn::IfThenElse(hn::Lt(r, Number(0)), hn::Add(r, divisor), r);
  r = hn::IfThenElse(hn::Ge(r, divisor), hn::Sub(r, divisor), r);
  return hn::CopySign(r, a);
}

// Python's %: the result has the sign of the divisor.
HWY_INLINE V RemainderOf(V a, V b, M& usual) {
  const V r = FmodOf(a, b, usual), zero = Number(0);
  const M differ = hn::Xor(hn::Lt(b, zero), hn::Lt(r, zero));
  return hn::IfThenElse(hn::And(hn::Ne(r, zero), differ), hn::Add(r, b), r);
}

// Python's //, in the steps of PythonFloatFloorDiv.
HWY_INLINE V FloorDivOf(V a, V b, M& usual) {
  const V r = FmodOf(a, b, usual), zero = Number(0), one = Number(1);
  V q = hn::Div(hn::Sub(a, r), b);
  const M differ = hn::Xor(hn::Lt(b, zero), hn::Lt(r, zero));
  q = hn::IfThenElse(hn::And(hn::Ne(r, zero), differ), hn::Sub(q, one), q);
  const V floored = hn::Floor(q);
  const V nearest =
      hn::IfThenElse(hn::Gt(hn::Sub(q, floored), Number(0.5)), hn::Add(floored, one), floored);
  return hn::IfThenElse(hn::Eq(q, zero), hn::CopySign(zero, hn::Xor(a, b)), nearest);
}

// sqrt(a^2 + b^2) if the larger square neither overflows nor underflows.
HWY_INLINE V HypotOf(V a, V b, M& usual) {
  const V sum = hn::Add(hn::Abs(a), hn::Abs(b));  // NaN if one is
  usual = hn::And(hn::Lt(sum, Number(0x1p500)),
                  hn::Or(hn::Gt(sum, Number(0x1p-400)), hn::Eq(sum, Number(0))));
  return hn::Sqrt(hn::MulAdd(a, a, hn::Mul(b, b)));
}

#define BELAY_DEFINE(name, lowest, highest, expression)                                 \
  void name(const void* const* operands, void* out, size_t n, const PointwiseParams&) { \
    Map(PointwiseOp::k##name, operands, out, n, lowest, highest,                        \
        [](V x) HWY_ATTR { return expression; });                                       \
  }
#define BELAY_DEFINE_EVERYWHERE(name, expression) BELAY_DEFINE(name, -kInf, kInf, expression)
constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kBelowOne = 0x1.fffffffffffffp-1;
BELAY_DEFINE(Acos, -1, 1, hn::CallAcos(kTag, x))
BELAY_DEFINE(Acosh, 1, 1e150, AcoshOf(x))
BELAY_DEFINE(Asin, -1, 1, Odd(x, hn::CallAsin(kTag, hn::Abs(x))))
BELAY_DEFINE(Asinh, -1e150, 1e150, AsinhOf(x))
BELAY_DEFINE(Atan, -kMax, kMax, Odd(x, hn::CallAtan(kTag, hn::Abs(x))))
BELAY_DEFINE(Atanh, -kBelowOne, kBelowOne, AtanhOf(x))
BELAY_DEFINE_EVERYWHERE(Ceil, hn::Ceil(x))
BELAY_DEFINE(Cos, -39000, 39000, hn::CallCos(kTag, x))
BELAY_DEFINE(Cosh, -709, 709, CoshOf(x))
BELAY_DEFINE_EVERYWHERE(Erf, ErfOf(x))
BELAY_DEFINE_EVERYWHERE(Erfc, ErfcOfAny(x))
BELAY_DEFINE(Exp, -746, 709.7, ExpInRange(x))
BELAY_DEFINE(Expm1, -708, 709, Expm1InRange(x))
BELAY_DEFINE_EVERYWHERE(Floor, hn::Floor(x))
BELAY_DEFINE(GeluErf, -kMax, kMax, GeluOf(x))
BELAY_DEFINE_EVERYWHERE(GeluTanh, GeluTanhOf(x))
BELAY_DEFINE(Log, kLeast, kMax, hn::CallLog(kTag, x))
BELAY_DEFINE(Log10, kLeast, kMax, hn::Mul(hn::CallLog(kTag, x), Number(0.4342944819032518)))
BELAY_DEFINE(Log1p, -kBelowOne, kMax, hn::CallLog1p(kTag, x))
BELAY_DEFINE(Log2, kLeast, kMax, hn::Mul(hn::CallLog(kTag, x), Number(1.4426950408889634)))
BELAY_DEFINE(PowOfBase, -1076, 1023.9, Exp2InRange(x))
BELAY_DEFINE_EVERYWHERE(Reciprocal, hn::Div(Number(1), x))
BELAY_DEFINE_EVERYWHERE(Round, hn::Round(x))
BELAY_DEFINE_EVERYWHERE(Rsqrt, hn::Div(Number(1), hn::Sqrt(x)))
BELAY_DEFINE_EVERYWHERE(Sigmoid, SigmoidOf(x))
BELAY_DEFINE(Sin, -39000, 39000, hn::CallSin(kTag, x))
BELAY_DEFINE(Sinh, -709, 709, SinhOf(x))
BELAY_DEFINE_EVERYWHERE(Sqrt, hn::Sqrt(x))
BELAY_DEFINE(Tan, -39000, 39000, hn::Div(hn::CallSin(kTag, x), hn::CallCos(kTag, x)))
BELAY_DEFINE_EVERYWHERE(Tanh, TanhOf(x))
BELAY_DEFINE_EVERYWHERE(Trunc, hn::Trunc(x))
#undef BELAY_DEFINE_EVERYWHERE
#undef BELAY_DEFINE

#define BELAY_DEFINE(name, expression)                                                  \
  void name(const void* const* operands, void* out, size_t n, const PointwiseParams&) { \
    MapPairs(PointwiseOp::k##name, operands, out, n,                                    \
             [](V a, V b, [[maybe_unused]] M& usual) HWY_ATTR { return expression; });  \
  }
BELAY_DEFINE(Atan2, Atan2Of(a, b, usual))
BELAY_DEFINE(Copysign, hn::CopySign(a, b))
BELAY_DEFINE(FloorDiv, FloorDivOf(a, b, usual))
BELAY_DEFINE(Fmod, FmodOf(a, b, usual))
BELAY_DEFINE(Glu, hn::Mul(a, SigmoidOf(b)))
BELAY_DEFINE(Hypot, HypotOf(a, b, usual))
BELAY_DEFINE(Remainder, RemainderOf(a, b, usual))
BELAY_DEFINE(TruncDiv, hn::Trunc(hn::Div(a, b)))
#undef BELAY_DEFINE

void VectorElu(const void* const* operands, void* out, size_t n, const PointwiseParams& params) {
  const V factor = Number(params.Get<double>(0) * params.Get<double>(1));
  const V scale = Number(params.Get<double>(1)), input_scale = Number(params.Get<double>(2));
  Map(PointwiseOp::kElu, operands, out, n, -kInf, kInf, [=](V x) HWY_ATTR {
    const V y = hn::Mul(x, input_scale);
    const V below = hn::Mul(Expm1InRange(hn::Max(y, Number(-708))), factor);
    return hn::IfThenElse(hn::Lt(x, Number(0)), below, hn::Mul(x, scale));
  });
}

// log |gamma(z)| for z >= 1/2 is log S(z) + (z - 1/2) log t - t with t = z + g - 1/2: Lanczos' approximation
// with the rational function S of Boost's lanczos13m53, whose relative error is below 2^-52. Below 1/2,
// gamma(x) gamma(1 - x) = pi / sin(pi x). The error is below 1e-14 times the largest term, that of the result
// below 1 ULP of float.
HWY_NOINLINE V LgammaOf(V x, M& usual) {
  static constexpr double kNumerator[] = {
      2.506628274631000270164908177133837338626431, 210.8242777515793458725097339207133627117643,
      8071.672002365816210638002902272250613821826, 186056.2653952234950402949897160456992822505,
      2876370.628935372441225409051620849613599112, 31426415.58540019438061423162831820536287787,
      248874557.8620541565114603864132294232163077, 1439720407.311721673663223072794912393972362,
      6039542586.352028005064291644307297921069938, 17921034426.03720969991975575445893111267403,
      35711959237.35566804944018545154716670596718, 42919803642.64909876895789904700198885093263,
      23531376880.41075968857200767445163675473076};
  static constexpr double kDenominator[] = {1,         66,       1925,     32670,     357423,
                                            2637558,   13339535, 45995730, 105258076, 150917976,
                                            120543840, 39916800, 0};
  const V half = Number(0.5), one = Number(1);
  const M reflected = hn::Lt(x, half);
  const V z = hn::IfThenElse(reflected, hn::Sub(one, x), x);
  const V turn = hn::Mul(hn::Sub(x, hn::Round(x)), Number(3.141592653589793));
  const V sine = hn::Abs(hn::CallSin(kTag, turn));
  const V numerator = Polynomial(z, kNumerator), denominator = Polynomial(z, kDenominator);
  // S, or pi / (sin(pi x) S).
  const V quotient =
      hn::Div(hn::IfThenElse(reflected, hn::Mul(Number(3.141592653589793), denominator), numerator),
              hn::IfThenElse(reflected, hn::Mul(sine, numerator), denominator));
  usual =
      hn::And(hn::Lt(hn::Abs(x), Number(1e20)), hn::Or(hn::Ge(x, half), hn::Gt(sine, Number(0))));
  const V t = hn::Add(z, Number(6.024680040776729583740234375 - 0.5));
  const V rest = hn::MulSub(hn::Sub(z, half), hn::CallLog(kTag, t), t);
  const V y = hn::Add(hn::CallLog(kTag, quotient), hn::IfThenElse(reflected, hn::Neg(rest), rest));
  return hn::IfThenZeroElse(hn::Or(hn::Eq(x, one), hn::Eq(x, Number(2))), y);
}

void VectorLgamma(const void* const* operands, void* result, size_t n, const PointwiseParams&) {
  const hn::Rebind<float, D> narrow;
  const float* in = static_cast<const float*>(operands[0]);
  float* out = static_cast<float*>(result);
  for (size_t i = 0; i < n; i += hn::Lanes(kTag)) {
    const size_t count = HWY_MIN(hn::Lanes(kTag), n - i);
    const V x = hn::PromoteTo(kTag, hn::LoadNOr(hn::Set(narrow, 1.5f), narrow, in + i, count));
    M usual;
    V y = LgammaOf(x, usual);
    if (HWY_UNLIKELY(!hn::AllTrue(kTag, usual))) y = WithExact(x, y, usual, PointwiseOp::kLgamma);
    hn::StoreN(hn::DemoteTo(narrow, y), narrow, out + i, count);
  }
}

constexpr VectorLoop kLgamma = &VectorLgamma;
constexpr VectorLoop kElu = &VectorElu;
#define BELAY_LOOP(name) &name
#define BELAY_PAIR_LOOP(name) &name
void PowTensor(const void* const* operands, void* out, size_t n, const PointwiseParams& params) {
  EachPair<PointwiseOp::kPowTensor>(operands, out, n, params);
}
#else
constexpr VectorLoop kLgamma = &EachLgamma;
constexpr VectorLoop kElu = &EachElu;
#define BELAY_LOOP(name) &Each<PointwiseOp::k##name>
#define BELAY_PAIR_LOOP(name) &EachPair<PointwiseOp::k##name>
#endif  // vectors of float64

}  // namespace

VectorLoop FindDoubleLoopImpl(PointwiseOp op) {
  switch (op) {
#define BELAY_CASE(name)     \
  case PointwiseOp::k##name: \
    return BELAY_LOOP(name);
    BELAY_DOUBLE_OPS(BELAY_CASE)
#undef BELAY_CASE
#define BELAY_CASE(name)     \
  case PointwiseOp::k##name: \
    return BELAY_PAIR_LOOP(name);
    BELAY_DOUBLE_PAIR_OPS(BELAY_CASE)
#undef BELAY_CASE
    case PointwiseOp::kElu:
      return kElu;
    default:
      return nullptr;
  }
}
#undef BELAY_LOOP
#undef BELAY_PAIR_LOOP

VectorLoop FindLgammaLoopImpl(DType type) { return type == DType::kFloat32 ? kLgamma : nullptr; }

}  // namespace HWY_NAMESPACE
}  // namespace belay
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace belay {

HWY_EXPORT(FindDoubleLoopImpl);
HWY_EXPORT(FindLgammaLoopImpl);
VectorLoop FindLgammaLoop(DType type) { return HWY_DYNAMIC_DISPATCH(FindLgammaLoopImpl)(type); }

VectorLoop FindDoubleLoop(PointwiseOp op) { return HWY_DYNAMIC_DISPATCH(FindDoubleLoopImpl)(op); }

}  // namespace belay
#endif  // HWY_ONCE
