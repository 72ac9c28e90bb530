// Activation functions with parameters, and the clamps.
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/promotion_rules.h"
#include "runtime/kernel/shape_rules/dims.h"
#include "runtime/kernels/call/pointwise.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

template <class T>
bool IsNan(T x) {
  return x != x;
}

// The bound when it is above max is max; NaN in the tensor stays.
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

// Clamps the operand of `call` to numbers of the dtype's kind; none for no bound.
absl::Status ClampToNumbers(KernelContext& context, PointwiseCall& call, const PromotedTypes& types,
                            const EValue& min, const EValue& max) {
  if (IsNanNumber(min) || IsNanNumber(max)) return call.Execute(context, types, kUnary<kFillNan>);
  PointwiseParams params;
  if (!min.is_none()) {
    ABSL_ASSIGN_OR_RETURN(const EValue low, ConvertScalar(min, types.compute));
    params.Set(0, low);
  }
  if (!max.is_none()) {
    ABSL_ASSIGN_OR_RETURN(const EValue high, ConvertScalar(max, types.compute));
    params.Set(1, high);
  }
  if (min.is_none()) return call.Execute(context, types, kUnary<kLower>, params);
  if (max.is_none()) return call.Execute(context, types, kUnary<kRaise>, params);
  return call.Execute(context, types, kUnary<kClampNumbers>, params);
}

absl::Status NoBounds() {
  return absl::InvalidArgumentError("arguments 1 and 2: at least one of min and max must be given");
}

// (self, min?, max?), the bounds numbers that take part in promotion, but for a self of floating
// point type.
absl::Status Clamp(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  PointwiseCall call;
  ABSL_RETURN_IF_ERROR(call.Add(context, 0));
  if (context.is_none(1) && context.is_none(2)) return NoBounds();
  const bool promotes = !IsFloatingPoint(call.operand(0).dtype);
  for (int i = 1; i <= 2; ++i) {
    if (promotes && !context.is_none(i))
      ABSL_RETURN_IF_ERROR(call.PromoteWith(context.argument(i)));
  }
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kOrderedRule));
  return ClampToNumbers(context, call, types, context.argument(1), context.argument(2));
}

// (self, min?, max?), the bounds tensors. A NaN in any of the three is the result.
absl::Status ClampTensor(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  const bool has_min = !context.is_none(1), has_max = !context.is_none(2);
  if (!has_min && !has_max) return NoBounds();
  PointwiseCall call;
  ABSL_RETURN_IF_ERROR(call.Add(context, 0));
  if (has_min) ABSL_RETURN_IF_ERROR(call.Add(context, 1));
  if (has_max) ABSL_RETURN_IF_ERROR(call.Add(context, 2));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kOrderedRule));
  if (!has_max) {
    return call.Execute(context, types, kBinary<[](RealLike auto x, RealLike auto low) {
                          return IsNan(low) || x < low ? low : x;
                        }>);
  }
  if (!has_min) {
    return call.Execute(context, types, kBinary<[](RealLike auto x, RealLike auto high) {
                          return IsNan(high) || high < x ? high : x;
                        }>);
  }
  return call.Execute(context, types,
                      kTernary<[](RealLike auto x, RealLike auto low, RealLike auto high) {
                        if (IsNan(low)) return low;
                        if (IsNan(high)) return high;
                        const auto raised = x < low ? low : x;
                        return high < raised ? high : raised;
                      }>);
}

// (self, min_val, max_val): the bounds do not take part in promotion; for integers they are cut to
// integers.
absl::Status Hardtanh(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  PointwiseCall call;
  ABSL_RETURN_IF_ERROR(call.Add(context, 0));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kNumericRule));
  EValue bounds[2];
  for (int k = 0; k < 2; ++k) {
    ABSL_ASSIGN_OR_RETURN(bounds[k], context.Scalar(1 + k));
    if (!IsIntegral(types.compute, /*include_bool=*/false)) continue;
    ABSL_ASSIGN_OR_RETURN(bounds[k], ConvertScalar(bounds[k], DType::kInt64));
    const int64_t* bound = bounds[k].get_if<int64_t>();
    if (types.compute == DType::kUint8 && (bound == nullptr || *bound < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", 1 + k, ": a negative bound for uint8"));
    }
  }
  return ClampToNumbers(context, call, types, bounds[0], bounds[1]);
}

// Adds self and reads the numbers in arguments 1 … count into the params, in the precision of the
// arithmetic.
absl::StatusOr<PointwiseParams> AddWithNumbers(KernelContext& context, PointwiseCall& call,
                                               int count) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1 + count, 1));
  ABSL_RETURN_IF_ERROR(call.Add(context, 0));
  const DType precision =
      call.operand(0).dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  PointwiseParams params;
  for (int k = 0; k < count; ++k) {
    ABSL_ASSIGN_OR_RETURN(const EValue value, ConvertScalar(context.argument(1 + k), precision));
    params.Set(k, value);
  }
  return params;
}

// (self, alpha, scale, input_scale)
absl::Status Elu(KernelContext& context) {
  PointwiseCall call;
  ABSL_ASSIGN_OR_RETURN(const PointwiseParams params, AddWithNumbers(context, call, 3));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kFloatOnlyRule));
  return call.Execute(context, types, kUnary<[](FloatLike auto x, const PointwiseParams& p) {
                        using T = decltype(x);
                        const T alpha = p.Get<T>(0), scale = p.Get<T>(1), input_scale = p.Get<T>(2);
                        return x < 0 ? std::expm1(x * input_scale) * (alpha * scale) : x * scale;
                      }>,
                      params);
}

// (self, negative_slope)
absl::Status LeakyRelu(KernelContext& context) {
  PointwiseCall call;
  ABSL_ASSIGN_OR_RETURN(const PointwiseParams params, AddWithNumbers(context, call, 1));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kFloatOnlyRule));
  return call.Execute(context, types, kUnary<[](FloatLike auto x, const PointwiseParams& p) {
                        return x > 0 ? x : x * p.Get<decltype(x)>(0);
                      }>,
                      params);
}

// (self, *, approximate)
absl::Status Gelu(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const std::string_view approximate, context.String(1));
  PointwiseCall call;
  ABSL_RETURN_IF_ERROR(call.Add(context, 0));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kFloatOnlyRule));
  if (approximate == "none") {
    // x * Phi(x); erfc keeps its precision where 1 + erf does not.
    return call.Execute(context, types, kUnary<[](FloatLike auto x) {
                          using T = decltype(x);
                          return x * T{0.5} *
                                 std::erfc(-x * static_cast<T>(1 / std::numbers::sqrt2));
                        }>);
  }
  if (approximate == "tanh") {
    return call.Execute(context, types, kUnary<[](FloatLike auto x) {
                          using T = decltype(x);
                          const T c =
                              static_cast<T>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
                          const T inner = c * (x + static_cast<T>(0.044715) * x * x * x);
                          return T{0.5} * x * (T{1} + std::tanh(inner));
                        }>);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("argument 1: expected approximation none or tanh, got '", approximate, "'"));
}

// (self, dim): the first half times the sigmoid of the second.
absl::Status Glu(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim_argument, context.Int(1));
  if (self->rank() == 0)
    return absl::InvalidArgumentError("argument 0: expected a tensor with dimensions, got none");
  ABSL_ASSIGN_OR_RETURN(const int dim, NormalizeDim(dim_argument, self->rank()));
  if (self->sizes[dim] % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "argument 0: expected an even size at dimension ", dim, ", got ", self->sizes[dim]));
  }
  TensorView halves[2] = {*self, *self};
  for (TensorView& half : halves) half.sizes[dim] /= 2;
  if (self->numel() > 0) {
    const size_t skip =
        static_cast<size_t>(halves[0].sizes[dim] * self->strides[dim]) * DTypeSize(self->dtype);
    halves[1].data = self->as<std::byte>() + skip;
  }
  PointwiseCall call;
  call.AddTensor(halves[0]);
  call.AddTensor(halves[1]);
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kFloatOnlyRule));
  return call.Execute(context, types, kBinary<[](FloatLike auto a, FloatLike auto b) {
                        return a / (decltype(a){1} + std::exp(-b));
                      }>);
}

// (self, eps?): log(x / (1 - x)), x clamped to [eps, 1 - eps].
absl::Status Logit(KernelContext& context) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const double eps, context.DoubleOr(1, -1));
  PointwiseCall call;
  ABSL_RETURN_IF_ERROR(call.Add(context, 0));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, call.Promote(kOrderedToFloatRule));
  ABSL_RETURN_IF_ERROR(ConvertScalar(EValue(eps), types.compute).status());
  PointwiseParams params;
  params.Set(0, EValue(eps));
  return call.Execute(context, types, kUnary<[](FloatLike auto x, const PointwiseParams& p) {
                        using T = decltype(x);
                        const T eps = p.Get<T>(0);
                        if (eps >= 0) x = x < eps ? eps : x > T{1} - eps ? T{1} - eps : x;
                        return std::log(x / (T{1} - x));
                      }>,
                      params);
}

constexpr Kernel Row(std::string_view op, std::string_view name,
                     absl::Status (*run)(KernelContext&)) {
  return {op, name, KernelEngine::kReference, run};
}

constexpr Kernel kKernels[] = {
    Row("aten.clamp.Tensor", "ClampTensor", &ClampTensor),
    Row("aten.clamp.default", "Clamp", &Clamp),
    Row("aten.elu.default", "Elu", &Elu),
    Row("aten.gelu.default", "Gelu", &Gelu),
    Row("aten.glu.default", "Glu", &Glu),
    Row("aten.hardtanh.default", "Hardtanh", &Hardtanh),
    Row("aten.leaky_relu.default", "LeakyRelu", &LeakyRelu),
    Row("aten.logit.default", "Logit", &Logit),
};

}  // namespace

absl::Span<const Kernel> ActivationKernels() { return kKernels; }

}  // namespace belay
