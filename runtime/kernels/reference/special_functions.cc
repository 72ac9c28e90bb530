// Special functions of real numbers and other non-core pointwise operators, in double precision.
// The accuracy is at least that of float32 over the whole domain, and a few ULP of float64 for
// common arguments. NaN gives NaN. Poles and arguments outside the domain give PyTorch's results.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numbers>

#include "absl/types/span.h"
#include "runtime/core/element.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/orthogonal_polynomials.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/operands/pointwise.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Step limit; the series and continued fractions below converge in far fewer steps on their ranges.
constexpr int kMostSteps = 2000;

// c[0] x^(n-1) + … + c[n-1]
template <int n>
double Polynomial(const double (&c)[n], double x) {
  double result = 0;
  for (double coefficient : c) result = result * x + coefficient;
  return result;
}

// exp(x^2) erfc(x)
double ScaledErfc(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  // 1/(x √π) (1 - 1/(2x²) + 3/(4x⁴) - …)
  const double r = 1 / (2 * x * x);
  return (1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r))))) / x *
         std::numbers::inv_sqrtpi;
}

// Quantile function of the normal distribution; infinite at 0 and 1.
double NormalQuantile(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return kNotANumber;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p == 0.5) return 0;
  // Acklam's rational approximation, then two steps of Halley's method.
  constexpr double kCentralTop[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                                    -2.759285104469687e+02, 1.383577518672690e+02,
                                    -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double kCentralBottom[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                                       -1.556989798598866e+02, 6.680131188771972e+01,
                                       -1.328068155288572e+01, 1};
  constexpr double kTailTop[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                                 -2.400758277161838e+00, -2.549732539343734e+00,
                                 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double kTailBottom[] = {7.784695709041462e-03, 3.224671290700398e-01,
                                    2.445134137142996e+00, 3.754408661907416e+00, 1};
  const bool upper = p > 0.5;
  const double tail = upper ? 1 - p : p;
  double x;
  if (tail < 0.02425) {
    const double q = std::sqrt(-2 * std::log(tail));
    x = Polynomial(kTailTop, q) / Polynomial(kTailBottom, q);
  } else {
    const double q = tail - 0.5, r = q * q;
    x = Polynomial(kCentralTop, r) * q / Polynomial(kCentralBottom, r);
  }
  for (int i = 0; i < 2; ++i) {
    const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - tail;
    const double step = error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
    if (!std::isfinite(step)) break;
    x -= step / (1 + x * step / 2);
  }
  return upper ? -x : x;
}

// Inverse of erf; infinite at ±1.
double InverseErf(double y) {
  const double size = std::abs(y);
  if (std::isnan(y) || size > 1) return kNotANumber;
  if (size > 0.5) {
    return std::copysign(-NormalQuantile((1 - size) / 2) / std::numbers::sqrt2, y);
  }
  double x = y * std::sqrt(std::numbers::pi) / 2 * (1 + std::numbers::pi * y * y / 12);
  for (int i = 0; i < 4; ++i) {
    x -= (std::erf(x) - y) * std::sqrt(std::numbers::pi) / 2 * std::exp(x * x);
  }
  return x;
}

// exp(x) K_order(x) for x >= 2: the integral of exp(-x (cosh t - 1)) cosh(order t) over t >= 0
// (Abramowitz, Stegun 9.6.24). The trapezoidal rule converges exponentially for such an integrand.
double ScaledBesselKByIntegral(double order, double x) {
  const double step = std::min(0.25, 0.7 / std::sqrt(x));
  double sum = 0.5;
  for (int k = 1; k < 200; ++k) {
    const double t = k * step, root = std::sinh(t / 2);
    const double exponent = -2 * x * root * root;  // -x (cosh t - 1)
    if (exponent < -745) break;
    sum += std::exp(exponent) * std::cosh(order * t);
  }
  return sum * step;
}

// exp(x) K_kOrder(x) for orders 0 and 1.
template <int kOrder>
double ScaledBesselK(double x) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNotANumber;
  if (x > 2) return x == kInfinity ? 0 : ScaledBesselKByIntegral(kOrder, x);
  // Series of I0, I1 and K0 (Abramowitz, Stegun 9.6.10, 9.6.13); then I0 K1 + I1 K0 = 1 / x gives
  // K1.
  const double quarter = x * x / 4;
  double term = 1, harmonic = 0, i0 = 1, i1 = 1, rest = 0;
  for (int k = 1; k < 30; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    i0 += term;
    i1 += term / (k + 1);
    rest += term * harmonic;
  }
  const double k0 = rest - (std::log(x / 2) + std::numbers::egamma) * i0;
  return std::exp(x) * (kOrder == 0 ? k0 : (1 / x - i1 * x / 2 * k0) / i0);
}
template <int kOrder>
double BesselK(double x) {
  const double scaled = ScaledBesselK<kOrder>(x);
  return scaled == kInfinity ? scaled : scaled * std::exp(-x);
}

double SphericalBesselJ0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

// Ai(x), the solution of w'' = x w that decays for large x.
double AiryAi(double x) {
  if (std::isnan(x) || std::isinf(x)) return kNotANumber;
  const double size = std::abs(x), root = std::sqrt(size);
  const double phase = 2 * size * root / 3;
  if (x > 2) {  // Abramowitz, Stegun 10.4.14
    return std::exp(-phase) * std::sqrt(x / 3) / std::numbers::pi *
           ScaledBesselKByIntegral(1.0 / 3, phase);
  }
  if (x < -8) {  // 10.4.60
    double term = 1, sums[2] = {1, 0};
    for (int k = 1; k < 12; ++k) {
      term *= (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1)) / phase;
      sums[k % 2] += k % 4 < 2 ? term : -term;
    }
    const double angle = phase + std::numbers::pi / 4;
    return (std::sin(angle) * sums[0] - std::cos(angle) * sums[1]) /
           (std::sqrt(std::numbers::pi) * std::sqrt(root));
  }
  // 10.4.2 in long double: terms grow to 10^6, after which double would keep only ten digits.
  const long double cube = static_cast<long double>(x) * x * x;
  long double f = 1, g = x, even = 1, odd = x;
  for (int k = 1; k < 60; ++k) {
    even *= cube / ((3 * k - 1) * (3 * k));
    odd *= cube / ((3 * k) * (3 * k + 1));
    f += even;
    g += odd;
  }
  return static_cast<double>(0.355028053887817239260063186004183177L * f -
                             0.258819403792806798405183560189203963L * g);
}

// log|Γ(x)|
double LogGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// Γ'(x) / Γ(x)
double Digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x == -kInfinity) return kNotANumber;
  double result = 0;
  if (x < 0) {
    if (x == std::trunc(x)) return kNotANumber;
    result = -std::numbers::pi / std::tan(std::numbers::pi * (x - std::trunc(x)));
    x = 1 - x;
  }
  for (; x < 10; ++x) result -= 1 / x;
  constexpr double kSeries[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                1.0 / 252, -1.0 / 120,     1.0 / 12,  0};
  return result + std::log(x) - 0.5 / x - Polynomial(kSeries, 1 / (x * x));
}

// The sum of 1 / (q + k)^x over k = 0, 1, …
double HurwitzZeta(double x, double q) {
  if (std::isnan(x) || std::isnan(q)) return kNotANumber;
  if (x == 1) return kInfinity;
  if (x < 1) return kNotANumber;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (x != std::floor(x)) return kNotANumber;
  }
  // Euler-Maclaurin formula: the first terms directly, then the integral and corrections.
  double sum = std::pow(q, -x), term = 0;
  double a = q;
  for (int i = 0; i < 9 || a <= 9; ++i) {
    a += 1;
    term = std::pow(a, -x);
    sum += term;
    if (std::abs(term) < kEpsilon * std::abs(sum)) return sum;
    if (i > kMostSteps) break;
  }
  sum += term * a / (x - 1) - term / 2;
  // (2k)! / B(2k)
  constexpr double kDivisors[] = {12.0,
                                  -720.0,
                                  30240.0,
                                  -1209600.0,
                                  47900160.0,
                                  -1.8924375803183791606e9,
                                  7.47242496e10,
                                  -2.950130727918164224e12,
                                  1.1646782814350067249e14,
                                  -4.5979787224074726105e15,
                                  1.8152105401943546773e17,
                                  -7.1661652561756670113e18};
  double factor = 1, k = 0;
  for (double divisor : kDivisors) {
    factor *= x + k;
    term /= a;
    const double correction = factor * term / divisor;
    sum += correction;
    if (std::abs(correction) < kEpsilon * std::abs(sum)) break;
    k += 1;
    factor *= x + k;
    term /= a;
    k += 1;
  }
  return sum;
}

// Derivative of Digamma of order n >= 0.
double Polygamma(double n, double x) {
  if (n == 0) return Digamma(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(LogGamma(n + 1)) * HurwitzZeta(n + 1, x);
}

// x^a e^-x / Γ(a)
double GammaFactor(double a, double x) { return std::exp(a * std::log(x) - x - LogGamma(a)); }

double LowerGammaSeries(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < kMostSteps; ++k) {
    term *= x / (a + k);
    sum += term;
    if (term < sum * kEpsilon) break;
  }
  return sum * GammaFactor(a, x);
}

// Lentz's algorithm.
double UpperGammaFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int k = 1; k < kMostSteps; ++k) {
    const double an = -k * (k - a);
    b += 2;
    d = an * d + b;
    if (std::abs(d) < kTiny) d = kTiny;
    c = b + an / c;
    if (std::abs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = d * c;
    h *= factor;
    if (std::abs(factor - 1) < kEpsilon) break;
  }
  return h * GammaFactor(a, x);
}

// Value of an incomplete gamma function at the edge of its domain; NaN inside the domain.
double GammaAtEdge(double a, double x, double at_zero, double at_infinity) {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNotANumber;
  if (a == 0) return x > 0 ? at_infinity : kNotANumber;
  if (x == 0) return at_zero;
  if (std::isinf(a)) return std::isinf(x) ? kNotANumber : at_zero;
  return at_infinity;
}
bool InsideGamma(double a, double x) {
  return a > 0 && x > 0 && std::isfinite(a) && std::isfinite(x);
}

// Regularized lower incomplete gamma function P(a, x), and Q(a, x) = 1 - P(a, x).
double LowerGamma(double a, double x) {
  if (!InsideGamma(a, x)) return GammaAtEdge(a, x, 0, 1);
  return x < a + 1 ? LowerGammaSeries(a, x) : 1 - UpperGammaFraction(a, x);
}

double UpperGamma(double a, double x) {
  if (!InsideGamma(a, x)) return GammaAtEdge(a, x, 1, 0);
  return x < a + 1 ? 1 - LowerGammaSeries(a, x) : UpperGammaFraction(a, x);
}

// I_n(x) e^-x for x >= 0, by the power series or, for large x, the asymptotic series.
double ScaledBesselI(int n, double x) {
  if (std::isinf(x)) return 0;
  if (x <= 30) {
    double term = n == 0 ? 1 : x / 2, sum = term;
    const double quarter = x * x / 4;
    for (int k = 1; k < kMostSteps && term > sum * kEpsilon; ++k) {
      term *= quarter / (static_cast<double>(k) * (k + n));
      sum += term;
    }
    return sum * std::exp(-x);
  }
  double term = 1, sum = 1;
  const double mu = 4.0 * n * n;
  for (int k = 1; k < 30; ++k) {
    const double odd = 2 * k - 1;
    const double next = term * -(mu - odd * odd) / (k * 8 * x);
    if (std::abs(next) >= std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < kEpsilon * std::abs(sum)) break;
  }
  return sum / std::sqrt(2 * std::numbers::pi * x);
}

// Modified Bessel functions I0 and I1, times exp(-|x|).
double ScaledBesselI0(double x) { return std::isnan(x) ? x : ScaledBesselI(0, std::abs(x)); }
double ScaledBesselI1(double x) {
  return std::isnan(x) ? x : std::copysign(ScaledBesselI(1, std::abs(x)), x);
}

// On [-1, 1], Chebyshev polynomials of higher degrees are trigonometric functions of acos(x), as in
// PyTorch.
template <PolynomialFamily kFamily>
double OrthogonalPolynomial(int64_t degree, double x) {
  using enum PolynomialFamily;
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  if (kFamily <= kChebyshevW && degree > 8 && std::abs(x) < 1) {
    const double n = static_cast<double>(degree), t = std::acos(x);
    if (kFamily == kChebyshevT) return std::cos(n * t);
    if (kFamily == kChebyshevU) return std::sin((n + 1) * t) / std::sin(t);
    if (kFamily == kChebyshevV) return std::cos((n + 0.5) * t) / std::cos(t / 2);
    return std::sin((n + 0.5) * t) / std::sin(t / 2);
  }
  constexpr PolynomialRecurrence kRecurrence = RecurrenceOf(kFamily);
  double before = 1, last = kRecurrence.slope * x + kRecurrence.start;
  for (int64_t k = 1; k < degree && !std::isnan(last); ++k) {
    const auto [by_x, by_one, by_before, divisor] = kRecurrence.next(static_cast<double>(k));
    const double next = (by_x * x + by_one) / divisor * last - by_before / divisor * before;
    before = last;
    last = next;
  }
  return last;
}

// Limit on degrees, which bounds the steps of an element.
constexpr double kMostDegree = 1023;

absl::Status CheckDegrees(const KernelArguments::OperandRef& degrees) {
  const TensorView* const tensor = degrees.tensor;
  if (tensor == nullptr) return absl::OkStatus();
  const Reader<double> read(*tensor);
  for (StridedIterator<1> it(tensor->sizes, {tensor->strides}); !it.done(); it.Next()) {
    const double degree = read(it.offset(0));
    if (degree > kMostDegree) {
      return absl::OutOfRangeError(
          absl::StrCat("a polynomial of degree ", degree, ", expected at most ", kMostDegree));
    }
  }
  return absl::OkStatus();
}

// Degrees are truncated; NaN is a negative degree.
template <PolynomialFamily kFamily>
constexpr LoopTable kPolynomial = kBinary<[](FloatLike auto x, FloatLike auto degree) {
  const auto n = degree > -1 ? static_cast<int64_t>(std::min<double>(degree, kMostDegree)) : -1;
  // PyTorch's limit of Hermite polynomials: beyond, their values exceed the type.
  constexpr int64_t kMostHermite = sizeof(x) == sizeof(float) ? 128 : 512;
  if ((kFamily == PolynomialFamily::kHermite || kFamily == PolynomialFamily::kHermiteE) &&
      n > kMostHermite) {
    return std::numeric_limits<decltype(x)>::quiet_NaN();
  }
  return static_cast<decltype(x)>(OrthogonalPolynomial<kFamily>(n, static_cast<double>(x)));
}>;

absl::Status RunPolynomial(KernelContext& context, const PolynomialCall<KernelArguments>& call) {
  using enum PolynomialFamily;
  static constexpr const LoopTable* kTables[] = {
      &kPolynomial<kChebyshevT>, &kPolynomial<kChebyshevU>, &kPolynomial<kChebyshevV>,
      &kPolynomial<kChebyshevW>, &kPolynomial<kHermite>,    &kPolynomial<kHermiteE>,
      &kPolynomial<kLaguerre>,   &kPolynomial<kLegendre>};
  static_assert(std::size(kTables) == kPolynomialFamilies);
  ABSL_RETURN_IF_ERROR(CheckDegrees(call.operands[1]));
  return RunPointwise(context, call, *kTables[static_cast<size_t>(call.family)]);
}

// Splits x into mantissa * 2^exponent, with |mantissa| in [0.5, 1). Zeros, infinities and NaN are
// returned as mantissas.
absl::Status Frexp(KernelContext& context, const FrexpCall<KernelArguments>& call) {
  const TensorView* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorView* mantissas, OutputOf(context, 0, self->dtype, *self));
  ABSL_ASSIGN_OR_RETURN(const TensorView* exponents, OutputOf(context, 1, DType::kInt32, *self));
  const Reader<double> read(*self);
  const Writer<double> write_mantissa(*mantissas);
  const Writer<int64_t> write_exponent(*exponents);
  for (StridedIterator<3> it(self->sizes, {self->strides, mantissas->strides, exponents->strides});
       !it.done(); it.Next()) {
    const double x = read(it.offset(0));
    int exponent = 0;
    write_mantissa(it.offset(1), std::isfinite(x) ? std::frexp(x, &exponent) : x);
    write_exponent(it.offset(2), exponent);
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

template <int kCount, PromotionRule kRule, const LoopTable& kTable>
absl::Status Run(KernelContext& context, const PlainCall<KernelArguments, kCount, kRule>& call) {
  return RunPointwise(context, call, kTable);
}
template <PromotionRule kRule, auto kApply>
constexpr Kernel UnaryRow(std::string_view op, std::string_view name) {
  return KernelRow<&Run<1, kRule, kUnary<kApply>>>(op, "self", name, kReference);
}
template <PromotionRule kRule, auto kApply>
constexpr Kernel BinaryRow(std::string_view op, std::string_view name) {
  return KernelRow<&Run<2, kRule, kBinary<kApply>>>(op, "self other", name, kReference);
}
template <auto kFunction>
constexpr Kernel Function(std::string_view op, std::string_view name) {
  return UnaryRow<kOrderedToFloatRule, [](FloatLike auto x) {
    return static_cast<decltype(x)>(kFunction(static_cast<double>(x)));
  }>(op, name);
}
template <PromotionRule kRule, auto kFunction>
constexpr Kernel FunctionOfTwo(std::string_view op, std::string_view name) {
  return BinaryRow<kRule, [](FloatLike auto x, FloatLike auto y) {
    return static_cast<decltype(x)>(kFunction(static_cast<double>(x), static_cast<double>(y)));
  }>(op, name);
}

constexpr auto kErfc = [](double x) { return std::erfc(x); };
constexpr auto kI0 = [](double x) { return ScaledBesselI0(x) * std::exp(std::abs(x)); };
constexpr auto kI1 = [](double x) { return ScaledBesselI1(x) * std::exp(std::abs(x)); };
constexpr auto kJ0 = [](double x) { return ::j0(x); };
constexpr auto kJ1 = [](double x) { return ::j1(x); };
constexpr auto kY0 = [](double x) { return x == 0 ? -kInfinity : x < 0 ? kNotANumber : ::y0(x); };
constexpr auto kY1 = [](double x) { return x == 0 ? -kInfinity : x < 0 ? kNotANumber : ::y1(x); };

constexpr auto kNextAfter = [](FloatLike auto a, FloatLike auto b) { return std::nextafter(a, b); };
// Half precision has its own neighbors: one step in the bits.
template <class Narrow>
constexpr auto kNarrowNextAfter = [](FloatLike auto a, FloatLike auto b) {
  using T = decltype(a);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return b;
  Narrow next(static_cast<float>(a));
  if (a == 0) {
    next.bits = std::signbit(b) ? 0x8001 : 1;
  } else {
    const bool grows = (b > a) == (a > 0);
    next.bits = static_cast<uint16_t>(grows ? next.bits + 1 : next.bits - 1);
  }
  return static_cast<T>(static_cast<float>(next));
};
absl::Status NextAfter(KernelContext& context,
                       const PlainCall<KernelArguments, 2, kFloatOnlyRule>& call) {
  const DType compute = call.types.compute;
  const LoopTable& table = compute == DType::kFloat16    ? kBinary<kNarrowNextAfter<Half>>
                           : compute == DType::kBFloat16 ? kBinary<kNarrowNextAfter<BFloat16>>
                                                         : kBinary<kNextAfter>;
  return RunPointwise(context, call, table);
}

absl::Status RunPolygamma(KernelContext& context, const PolygammaCall<KernelArguments>& call) {
  return RunPointwise(
      context, call, kBinary<[](FloatLike auto n, FloatLike auto x) {
        return static_cast<decltype(x)>(Polygamma(static_cast<double>(n), static_cast<double>(x)));
      }>);
}

// |x| in T; the minimum of a signed type has no magnitude and is returned unchanged.
template <IntegerLike T>
T Magnitude(T x) {
  return x < T{0} ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x)) : x;
}
template <IntegerLike T>
bool IsMinusOne(T x) {
  return x < T{0} && x + 1 == 0;
}
// Euclid's algorithm with magnitudes in T. If an operand is the minimum of T, the result may be
// negative, as in PyTorch.
constexpr auto kGcd = [](IntegerLike auto a, IntegerLike auto b) {
  using T = decltype(a);
  T x = Magnitude(a), y = Magnitude(static_cast<T>(b));
  while (x != T{0}) {
    const T divisor = x;
    // The quotient of the minimum and -1 overflows.
    x = IsMinusOne(divisor) ? T{0} : static_cast<T>(y % divisor);
    y = divisor;
  }
  return y;
};
constexpr auto kLcm = [](IntegerLike auto a, IntegerLike auto b) {
  using T = decltype(a);
  const T divisor = kGcd(a, b);
  if (divisor == T{0}) return T{0};
  // The quotient of the minimum and -1 wraps to the minimum.
  const T quotient = IsMinusOne(divisor) ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a))
                                         : static_cast<T>(a / divisor);
  return Magnitude(static_cast<T>(static_cast<uint64_t>(quotient) * static_cast<uint64_t>(b)));
};
// If one operand is NaN, returns the other.
constexpr auto kFmax = [](RealLike auto a, RealLike auto b) {
  return a != a ? b : b != b ? a : a < b ? b : a;
};
constexpr auto kFmin = [](RealLike auto a, RealLike auto b) {
  return a != a ? b : b != b ? a : b < a ? b : a;
};

constexpr Kernel kKernels[] = {
    Function<&Digamma>("aten.digamma.default", "Digamma"),
    Function<kErfc>("aten.erfc.default", "Erfc"),
    Function<&InverseErf>("aten.erfinv.default", "Erfinv"),
    BinaryRow<kOrderedRule, kFmax>("aten.fmax.default", "Fmax"),
    BinaryRow<kOrderedRule, kFmin>("aten.fmin.default", "Fmin"),
    BinaryRow<kIntegerRule, kGcd>("aten.gcd.default", "Gcd"),
    Function<kI0>("aten.i0.default", "I0"),
    FunctionOfTwo<kFloatOnlyRule, &LowerGamma>("aten.igamma.default", "Igamma"),
    FunctionOfTwo<kFloatOnlyRule, &UpperGamma>("aten.igammac.default", "Igammac"),
    BinaryRow<kIntegerRule, kLcm>("aten.lcm.default", "Lcm"),
    Function<&LogGamma>("aten.lgamma.default", "Lgamma"),
    KernelRow<&NextAfter>("aten.nextafter.default", "self other", "NextAfter", kReference),
    KernelRow<&RunPolygamma>("aten.polygamma.default", "n self", "Polygamma", kReference),
    KernelRow<&Frexp>("aten.frexp.Tensor", "self -> 2", "Frexp", kReference),
    Function<kJ0>("aten.special_bessel_j0.default", "BesselJ0"),
    Function<kJ1>("aten.special_bessel_j1.default", "BesselJ1"),
    Function<kY0>("aten.special_bessel_y0.default", "BesselY0"),
    Function<kY1>("aten.special_bessel_y1.default", "BesselY1"),
    Function<&ScaledErfc>("aten.special_erfcx.default", "Erfcx"),
    Function<&ScaledBesselI0>("aten.special_i0e.default", "I0e"),
    Function<kI1>("aten.special_i1.default", "I1"),
    Function<&ScaledBesselI1>("aten.special_i1e.default", "I1e"),
    Function<kI0>("aten.special_modified_bessel_i0.default", "ModifiedBesselI0"),
    Function<kI1>("aten.special_modified_bessel_i1.default", "ModifiedBesselI1"),
    Function<&BesselK<0>>("aten.special_modified_bessel_k0.default", "ModifiedBesselK0"),
    Function<&BesselK<1>>("aten.special_modified_bessel_k1.default", "ModifiedBesselK1"),
    Function<&NormalQuantile>("aten.special_ndtri.default", "Ndtri"),
    FunctionOfTwo<kOrderedToFloatRule, &HurwitzZeta>("aten.special_zeta.default", "Zeta"),
    FunctionOfTwo<kOrderedToFloatRule, &HurwitzZeta>("aten.special_zeta.other_scalar",
                                                     "ZetaOfNumber"),
    FunctionOfTwo<kOrderedToFloatRule, &HurwitzZeta>("aten.special_zeta.self_scalar",
                                                     "ZetaByNumber"),
    Function<&AiryAi>("special.airy_ai.default", "AiryAi"),
    KernelRow<&RunPolynomial>("special.polynomial.default", "self other family",
                              "OrthogonalPolynomial", kReference),
    Function<&ScaledBesselK<0>>("special.scaled_modified_bessel_k0.default",
                                "ScaledModifiedBesselK0"),
    Function<&ScaledBesselK<1>>("special.scaled_modified_bessel_k1.default",
                                "ScaledModifiedBesselK1"),
    Function<&SphericalBesselJ0>("special.spherical_bessel_j0.default", "SphericalBesselJ0"),
};

}  // namespace

absl::Span<const Kernel> SpecialFunctionsKernels() { return kKernels; }

}  // namespace belay
