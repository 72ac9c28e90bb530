// Activation functions with parameters, and clamps.
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernels/operands/pointwise.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/logistic.h"

namespace belay {
namespace {

template <class T>
bool IsNan(T x) {
  return x != x;
}

// If min > max, the result is max. NaN in the tensor is kept.
constexpr auto kClampNumbers = [](RealLike auto x, const PointwiseParams& p) {
  const auto low = p.Get<decltype(x)>(0), high = p.Get<decltype(x)>(1);
  const auto raised = x < low ? low : x;
  return high < raised ? high : raised;
};
constexpr auto kRaise = [](RealLike auto x, const PointwiseParams& p) {
  const auto low = p.Get<decltype(x)>(0);
  return x < low ? low : x;
};
constexpr auto kLower = [](RealLike auto x, const PointwiseParams& p) {
  const auto high = p.Get<decltype(x)>(1);
  return high < x ? high : x;
};
constexpr auto kFillNan = [](FloatLike auto x) {
  return std::numeric_limits<decltype(x)>::quiet_NaN();
};

bool IsNanNumber(const EValue& value) {
  const double* real = value.get_if<double>();
  return real != nullptr && std::isnan(*real);
}

// Clamps self to scalars of the dtype's kind; none for no bound.
absl::Status ClampToNumbers(KernelContext& context, const PointwiseOperands<KernelArguments>& call,
                            const EValue& min, const EValue& max) {
  if (IsNanNumber(min) || IsNanNumber(max)) return RunPointwise(context, call, kUnary<kFillNan>);
  PointwiseParams params;
  if (!min.is_none()) {
    ABSL_ASSIGN_OR_RETURN(const EValue low, ConvertScalar(min, call.types.compute));
    params.Set(0, low);
  }
  if (!max.is_none()) {
    ABSL_ASSIGN_OR_RETURN(const EValue high, ConvertScalar(max, call.types.compute));
    params.Set(1, high);
  }
  if (min.is_none()) return RunPointwise(context, call, kUnary<kLower>, params);
  if (max.is_none()) return RunPointwise(context, call, kUnary<kRaise>, params);
  return RunPointwise(context, call, kUnary<kClampNumbers>, params);
}

absl::Status Clamp(KernelContext& context, const ClampCall<KernelArguments>& call) {
  const EValue none;
  return ClampToNumbers(context, call, call.min.value == nullptr ? none : *call.min.value,
                        call.max.value == nullptr ? none : *call.max.value);
}

// The result is NaN if any of the three is NaN.
absl::Status ClampTensor(KernelContext& context, const ClampTensorCall<KernelArguments>& call) {
  if (!call.has_max) {
    return RunPointwise(context, call, kBinary<[](RealLike auto x, RealLike auto low) {
                          return IsNan(low) || x < low ? low : x;
                        }>);
  }
  if (!call.has_min) {
    return RunPointwise(context, call, kBinary<[](RealLike auto x, RealLike auto high) {
                          return IsNan(high) || high < x ? high : x;
                        }>);
  }
  return RunPointwise(context, call,
                      kTernary<[](RealLike auto x, RealLike auto low, RealLike auto high) {
                        if (IsNan(low)) return low;
                        if (IsNan(high)) return high;
                        const auto raised = x < low ? low : x;
                        return high < raised ? high : raised;
                      }>);
}

// The bounds of integer tensors are truncated to integers.
absl::Status Hardtanh(KernelContext& context,
                      const WithNumbersCall<KernelArguments, kNumericRule>& call) {
  const EValue &low = *call.numbers[0].value, &high = *call.numbers[1].value;
  if (!IsIntegral(call.types.compute, /*include_bool=*/false)) {
    return ClampToNumbers(context, call, low, high);
  }
  ABSL_ASSIGN_OR_RETURN(const IntegerBounds bounds, CutBounds(low, high, call.types.compute));
  return ClampToNumbers(context, call, bounds.low, bounds.high);
}

using FloatCall = WithNumbersCall<KernelArguments, kFloatOnlyRule>;

// Returns the scalar arguments in the compute precision.
absl::StatusOr<PointwiseParams> ParamsOf(const FloatCall& call) {
  const DType precision =
      ElementDType(call.operands[0]) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  PointwiseParams params;
  for (int k = 0; k < call.num_numbers; ++k) {
    ABSL_ASSIGN_OR_RETURN(const EValue value, ConvertScalar(*call.numbers[k].value, precision));
    params.Set(k, value);
  }
  return params;
}

absl::Status Elu(KernelContext& context, const FloatCall& call) {
  ABSL_ASSIGN_OR_RETURN(const PointwiseParams params, ParamsOf(call));
  return RunPointwise(context, call, kUnary<[](FloatLike auto x, const PointwiseParams& p) {
                        using T = decltype(x);
                        const T alpha = p.Get<T>(0), scale = p.Get<T>(1), input_scale = p.Get<T>(2);
                        return x < 0 ? std::expm1(x * input_scale) * (alpha * scale) : x * scale;
                      }>,
                      params);
}

absl::Status LeakyRelu(KernelContext& context, const FloatCall& call) {
  ABSL_ASSIGN_OR_RETURN(const PointwiseParams params, ParamsOf(call));
  return RunPointwise(context, call, kUnary<[](FloatLike auto x, const PointwiseParams& p) {
                        return x > 0 ? x : x * p.Get<decltype(x)>(0);
                      }>,
                      params);
}

absl::Status Gelu(KernelContext& context, const GeluCall<KernelArguments>& call) {
  if (!call.tanh) {
    // x * Phi(x). erfc keeps its precision where 1 + erf does not; in a wider type, since it multiplies
    // the relative error of its argument by the argument's square.
    return RunPointwise(context, call, kUnary<[](FloatLike auto x) {
                          using T = decltype(x);
                          using Wide =
                              std::conditional_t<std::is_same_v<T, double>, long double, double>;
                          const Wide argument = -static_cast<Wide>(x) / std::numbers::sqrt2_v<Wide>;
                          return x * static_cast<T>(Wide{0.5} * std::erfc(argument));
                        }>);
  }
  return RunPointwise(context, call, kUnary<[](FloatLike auto x) {
                        using T = decltype(x);
                        const T c = static_cast<T>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
                        const T inner = c * (x + static_cast<T>(0.044715) * x * x * x);
                        return T{0.5} * x * (T{1} + std::tanh(inner));
                      }>);
}

// The first half times the sigmoid of the second half.
absl::Status Glu(KernelContext& context, const GluCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const GluHalves halves(call);
  return RunPointwise(context, halves.call,
                      kBinary<[](FloatLike auto a, FloatLike auto b) { return a * Logistic(b); }>);
}

// log(x / (1 - x)), x clamped to [eps, 1 - eps].
absl::Status Logit(KernelContext& context, const LogitCall<KernelArguments>& call) {
  ABSL_RETURN_IF_ERROR(ConvertScalar(EValue(call.eps), call.types.compute).status());
  PointwiseParams params;
  params.Set(0, EValue(call.eps));
  return RunPointwise(context, call, kUnary<[](FloatLike auto x, const PointwiseParams& p) {
                        using T = decltype(x);
                        const T eps = p.Get<T>(0);
                        if (eps >= 0) x = x < eps ? eps : x > T{1} - eps ? T{1} - eps : x;
                        return std::log(x / (T{1} - x));
                      }>,
                      params);
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&ClampTensor>("aten.clamp.Tensor", "self min max", "ClampTensor", kReference),
    KernelRow<&Clamp>("aten.clamp.default", "self min max", "Clamp", kReference),
    KernelRow<&Elu>("aten.elu.default", "self alpha scale input_scale", "Elu", kReference),
    KernelRow<&Gelu>("aten.gelu.default", "self approximate", "Gelu", kReference),
    KernelRow<&Glu>("aten.glu.default", "self dim", "Glu", kReference),
    KernelRow<&Hardtanh>("aten.hardtanh.default", "self min_val max_val", "Hardtanh", kReference),
    KernelRow<&LeakyRelu>("aten.leaky_relu.default", "self negative_slope", "LeakyRelu",
                          kReference),
    KernelRow<&Logit>("aten.logit.default", "self eps", "Logit", kReference),
};

}  // namespace

absl::Span<const Kernel> ActivationKernels() { return kKernels; }

}  // namespace belay
