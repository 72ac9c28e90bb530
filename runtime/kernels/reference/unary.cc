// Operators of one tensor without parameters.
#include <cmath>
#include <complex>
#include <numbers>
#include <string_view>

#include "absl/types/span.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernels/operands/pointwise.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/logistic.h"

namespace belay {
namespace {

using Complex = std::complex<double>;

// -x modulo 2^64 for integers.
template <class T>
T Negated(T x) {
  if constexpr (IntegerLike<T>) {
    return static_cast<T>(-static_cast<uint64_t>(x));
  } else {
    return -x;
  }
}

template <FloatLike T>
T Log1p(T x) {
  return std::log1p(x);
}
// log|1 + z|, without cancellation for small z, and the argument of 1 + z.
Complex Log1p(Complex z) {
  const double x = z.real(), y = z.imag();
  const double angle = std::atan2(y, x + 1);
  if (std::abs(z) < 0.5) return {0.5 * std::log1p(x * (2 + x) + y * y), angle};
  return {std::log(std::hypot(x + 1, y)), angle};
}

template <FloatLike T>
T Expm1(T x) {
  return std::expm1(x);
}
Complex Expm1(Complex z) {
  const double x = z.real(), y = z.imag(), s = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * s * s, std::exp(x) * std::sin(y)};
}

template <FloatLike T>
T Log2(T x) {
  return std::log2(x);
}
Complex Log2(Complex z) { return std::log(z) / std::numbers::ln2; }

template <FloatLike T>
T Angle(T x) {
  return std::isnan(x) ? x : x < 0 ? static_cast<T>(std::numbers::pi) : T{0};
}
double Angle(Complex z) { return std::arg(z); }

template <PromotionRule kRule>
using Call = PlainCall<KernelArguments, 1, kRule>;

template <PromotionRule kRule, auto kApply>
absl::Status Run(KernelContext& context, const Call<kRule>& call) {
  return RunPointwise(context, call, kUnary<kApply>);
}

// ~x; logical not for bool, whose elements are computed as integers.
absl::Status BitwiseNot(KernelContext& context, const Call<kIntegerOrBoolRule>& call) {
  if (call.types.compute == DType::kBool) {
    return RunPointwise(context, call, kUnary<[](IntegerLike auto x) { return x == 0; }>);
  }
  return RunPointwise(context, call, kUnary<[](IntegerLike auto x) { return ~x; }>);
}

// Argument (angle) of a complex number; integers are treated as float32.
absl::Status AngleOf(KernelContext& context, const Call<kToFloatRule>& call) {
  PointwiseOperands<KernelArguments> real = call;
  real.types.result = RealPart(call.types.compute);
  return RunPointwise(context, real, kUnary<[](FloatOrComplex auto x) { return Angle(x); }>);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

template <PromotionRule kRule, auto kApply>
constexpr Kernel Row(std::string_view op, std::string_view name) {
  return KernelRow<&Run<kRule, kApply>>(op, "self", name, kReference);
}

constexpr Kernel kKernels[] = {
    Row<kAnyRule,
        [](auto x) {
          if constexpr (ComplexLike<decltype(x)>) {
            return std::conj(x);
          } else {
            return x;
          }
        }>("aten._conj_physical.default", "ConjPhysical"),
    Row<kMagnitudeRule,
        [](auto x) {
          if constexpr (IntegerLike<decltype(x)>) {
            return x < 0 ? Negated(x) : x;
          } else {
            return std::abs(x);
          }
        }>("aten.abs.default", "Abs"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::acos(x); }>("aten.acos.default",
                                                                          "Acos"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::acosh(x); }>("aten.acosh.default",
                                                                           "Acosh"),
    KernelRow<&AngleOf>("aten.angle.default", "self", "Angle", kReference),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::asin(x); }>("aten.asin.default",
                                                                          "Asin"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::asinh(x); }>("aten.asinh.default",
                                                                           "Asinh"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::atan(x); }>("aten.atan.default",
                                                                          "Atan"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::atanh(x); }>("aten.atanh.default",
                                                                           "Atanh"),
    KernelRow<&BitwiseNot>("aten.bitwise_not.default", "self", "BitwiseNot", kReference),
    Row<kNumericRule,
        [](RealLike auto x) {
          if constexpr (FloatLike<decltype(x)>) x = std::ceil(x);
          return x;
        }>("aten.ceil.default", "Ceil"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::cos(x); }>("aten.cos.default", "Cos"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::cosh(x); }>("aten.cosh.default",
                                                                          "Cosh"),
    Row<kOrderedToFloatRule, [](FloatLike auto x) { return std::erf(x); }>("aten.erf.default",
                                                                           "Erf"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::exp(x); }>("aten.exp.default", "Exp"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return Expm1(x); }>("aten.expm1.default",
                                                                      "Expm1"),
    Row<kNumericRule,
        [](RealLike auto x) {
          if constexpr (FloatLike<decltype(x)>) x = std::floor(x);
          return x;
        }>("aten.floor.default", "Floor"),
    Row<kAnyToBoolRule,
        [](auto x) {
          if constexpr (ComplexLike<decltype(x)>) {
            return std::isinf(x.real()) || std::isinf(x.imag());
          } else if constexpr (FloatLike<decltype(x)>) {
            return std::isinf(x);
          } else {
            return false;
          }
        }>("aten.isinf.default", "IsInf"),
    Row<kAnyToBoolRule, [](auto x) { return x != x; }>("aten.isnan.default", "IsNan"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::log(x); }>("aten.log.default", "Log"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::log10(x); }>("aten.log10.default",
                                                                           "Log10"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return Log1p(x); }>("aten.log1p.default",
                                                                      "Log1p"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return Log2(x); }>("aten.log2.default", "Log2"),
    Row<kAnyToBoolRule, [](auto x) { return x == decltype(x){}; }>("aten.logical_not.default",
                                                                   "LogicalNot"),
    Row<kNoBoolRule, [](auto x) { return Negated(x); }>("aten.neg.default", "Neg"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return decltype(x){1} / x; }>(
        "aten.reciprocal.default", "Reciprocal"),
    Row<kNumericRule, [](RealLike auto x) { return x < 0 ? decltype(x){0} : x; }>(
        "aten.relu.default", "Relu"),
    Row<kNumericRule,
        [](RealLike auto x) {
          if constexpr (FloatLike<decltype(x)>) x = std::nearbyint(x);  // ties to even
          return x;
        }>("aten.round.default", "Round"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return decltype(x){1} / std::sqrt(x); }>(
        "aten.rsqrt.default", "Rsqrt"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return Logistic(x); }>("aten.sigmoid.default",
                                                                         "Sigmoid"),
    Row<kOrderedRule, [](RealLike auto x) { return static_cast<decltype(x)>((0 < x) - (x < 0)); }>(
        "aten.sign.default", "Sign"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::sin(x); }>("aten.sin.default", "Sin"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::sinh(x); }>("aten.sinh.default",
                                                                          "Sinh"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::sqrt(x); }>("aten.sqrt.default",
                                                                          "Sqrt"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::tan(x); }>("aten.tan.default", "Tan"),
    Row<kToFloatRule, [](FloatOrComplex auto x) { return std::tanh(x); }>("aten.tanh.default",
                                                                          "Tanh"),
    Row<kNumericRule,
        [](RealLike auto x) {
          if constexpr (FloatLike<decltype(x)>) x = std::trunc(x);
          return x;
        }>("aten.trunc.default", "Trunc"),
};

}  // namespace

absl::Span<const Kernel> UnaryKernels() { return kKernels; }

}  // namespace belay
