// Readers that convert call arguments to requests. Calls that the reference kernels reject are not
// accepted, so that the reference kernels report the error.
#include <cmath>
#include <complex>
#include <string_view>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernels/operands/element_run.h"
#include "runtime/kernels/pointwise/pointwise.h"
#include "runtime/kernels/pointwise/pointwise_run.h"

namespace belay {
namespace {

absl::Status Refused() { return absl::InvalidArgumentError("left to the reference kernel"); }

using Arguments = KernelArguments;

// Operators without scalar parameters.
template <int kCount, PromotionRule kRule, PointwiseOp kOp, bool kExactLast = false>
struct Plain {
  static absl::Status Read(const Arguments& arguments, PointwiseRequest& request) {
    ABSL_ASSIGN_OR_RETURN(request.call, (PlainCall<Arguments, kCount, kRule>::Read(arguments)));
    request.op = kOp;
    request.exact_last = kExactLast;
    SetDense(request);
    return absl::OkStatus();
  }
};

// Whether x is ±2^k; false for 0. Multiplication by it is exact, except for subnormal results.
bool IsPowerOfTwo(double x) {
  int exponent;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

// The reference kernel rounds a floating-point sum and product once; these loops take two steps.
// Only factors with an exact product are thus accepted. A factor computed at run time is 0 when the
// kernel is chosen, and is not accepted.
template <PromotionRule kRule, PointwiseOp kOp>
struct Scaled {
  static absl::Status Read(const Arguments& arguments, PointwiseRequest& request) {
    using Call = ScaledCall<Arguments, kRule>;
    ABSL_ASSIGN_OR_RETURN(const Call call, Call::Read(arguments));
    const EValue& alpha = *call.alpha.value;
    if (alpha.is<std::complex<double>>()) return Refused();
    ABSL_ASSIGN_OR_RETURN(const EValue factor, ConvertScalar(alpha, call.types.compute));
    const double* real = factor.get_if<double>();
    if (real != nullptr && !IsPowerOfTwo(*real)) return Refused();
    const std::complex<double>* complex = factor.get_if<std::complex<double>>();
    if (complex != nullptr && *complex != 1.0) return Refused();
    request.call = call;
    request.params.Set(0, complex != nullptr ? EValue(1.0) : factor);
    request.op = kOp;
    const int64_t* integer = alpha.get_if<int64_t>();
    if (integer != nullptr && *integer == 1) SetDense(request);
    return absl::OkStatus();
  }
};

// ~x, the negation for bool.
absl::Status BitwiseNot(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(request.call,
                        (PlainCall<Arguments, 1, kIntegerOrBoolRule>::Read(arguments)));
  request.op =
      request.call.types.compute == DType::kBool ? PointwiseOp::kLogicalNot : PointwiseOp::kNot;
  return absl::OkStatus();
}

bool IsNanNumber(const EValue& value) {
  const double* real = value.get_if<double>();
  return real != nullptr && std::isnan(*real);
}

// Bounds are slots of the call, or scalars that are not NaN.
absl::Status ClampToNumbers(PointwiseRequest& request, const EValue& low, const EValue& high) {
  for (const EValue* bound : {&low, &high}) {
    if (!IsNanNumber(*bound)) continue;
    // Every product with a NaN bound is NaN.
    request.call.Append({bound, nullptr, DType::kFloat32});
    request.op = PointwiseOp::kMul;
    return absl::OkStatus();
  }
  for (int k = 0; k < 2; ++k) {
    const EValue& bound = k == 0 ? low : high;
    if (bound.is_none()) continue;
    ABSL_ASSIGN_OR_RETURN(const EValue converted, ConvertScalar(bound, request.call.types.compute));
    request.params.Set(k, converted);
  }
  request.op = low.is_none()    ? PointwiseOp::kClampHigh
               : high.is_none() ? PointwiseOp::kClampLow
                                : PointwiseOp::kClampBoth;
  return absl::OkStatus();
}

absl::Status Clamp(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(request.call, ClampCall<Arguments>::Read(arguments));
  return ClampToNumbers(request, arguments["min"], arguments["max"]);
}

// The result is NaN if any of the three is NaN.
absl::Status ClampTensor(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const ClampTensorCall<Arguments> call,
                        ClampTensorCall<Arguments>::Read(arguments));
  request.call = call;
  request.op = !call.has_max   ? PointwiseOp::kMaximum
               : !call.has_min ? PointwiseOp::kMinimum
                               : PointwiseOp::kClampBetween;
  return absl::OkStatus();
}

absl::Status Hardtanh(const Arguments& arguments, PointwiseRequest& request) {
  using Call = WithNumbersCall<Arguments, kNumericRule>;
  ABSL_ASSIGN_OR_RETURN(const Call call, Call::Read(arguments));
  request.call = call;
  const EValue &low = *call.numbers[0].value, &high = *call.numbers[1].value;
  if (!IsIntegral(call.types.compute, /*include_bool=*/false)) {
    return ClampToNumbers(request, low, high);
  }
  ABSL_ASSIGN_OR_RETURN(const IntegerBounds bounds, CutBounds(low, high, call.types.compute));
  return ClampToNumbers(request, bounds.low, bounds.high);
}

// Operators with floating-point self and scalars in the compute precision.
template <PointwiseOp kOp>
absl::Status FloatWithNumbers(const Arguments& arguments, PointwiseRequest& request) {
  using Call = WithNumbersCall<Arguments, kFloatOnlyRule>;
  ABSL_ASSIGN_OR_RETURN(const Call call, Call::Read(arguments));
  const DType precision =
      ElementDType(call.operands[0]) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  for (int k = 0; k < call.num_numbers; ++k) {
    ABSL_ASSIGN_OR_RETURN(const EValue value, ConvertScalar(*call.numbers[k].value, precision));
    request.params.Set(k, value);
  }
  request.call = call;
  request.op = kOp;
  return absl::OkStatus();
}

// Quotients of floating-point numbers rounded to integers.
absl::Status DivMode(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const DivModeCall<Arguments> call, DivModeCall<Arguments>::Read(arguments));
  const DType compute = call.types.compute;
  if (!IsFloatingPoint(compute) || call.rounding == QuotientRounding::kNone) return Refused();
  request.call = call;
  request.exact_last = true;
  if (IsHalf(compute)) {
    const HalfSteps steps = compute == DType::kFloat16 ? HalfSteps::kFloat16 : HalfSteps::kBFloat16;
    request.params.Set(0, EValue(static_cast<int64_t>(steps)));
  }
  request.op =
      call.rounding == QuotientRounding::kTrunc ? PointwiseOp::kTruncDiv : PointwiseOp::kFloorDiv;
  SetDense(request);
  return absl::OkStatus();
}

absl::Status Gelu(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const GeluCall<Arguments> call, GeluCall<Arguments>::Read(arguments));
  request.call = call;
  request.op = call.tanh ? PointwiseOp::kGeluTanh : PointwiseOp::kGeluErf;
  return absl::OkStatus();
}

// Accepts all exponents for float32 and half precision, otherwise those that need no pow(). An
// exponent computed at run time is 0 when the kernel is chosen.
absl::Status PowTensorScalar(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(request.call, PowerCall<Arguments>::Read(arguments));
  const DType compute = request.call.types.compute;
  ABSL_ASSIGN_OR_RETURN(const double e, arguments.Double("exponent"));
  const bool any = compute == DType::kFloat32 || IsHalf(compute);
  if (IsComplex(compute) ||
      (!any && !IsQuickExponent(e, IsIntegral(compute, /*include_bool=*/true))))
    return Refused();
  // An exponent that is too large for float32 counts as infinite; for other types it is an error.
  const bool single = compute == DType::kFloat32;
  ABSL_ASSIGN_OR_RETURN(EValue converted,
                        ConvertScalar(arguments["exponent"], single ? DType::kFloat64 : compute));
  if (IsHalf(compute)) {
    ABSL_ASSIGN_OR_RETURN(converted, ConvertScalar(arguments["exponent"], DType::kFloat32));
  }
  request.params.Set(0, converted);
  request.op = PointwiseOp::kPow;
  return absl::OkStatus();
}

// base^exponent. Bases that are positive and not 1 have a loop of their own, for float64 only 2.
absl::Status PowScalar(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(request.call, (PlainCall<Arguments, 2, kNoBoolRule>::Read(arguments)));
  request.op = PointwiseOp::kPowTensor;
  const DType compute = request.call.types.compute;
  if (compute != DType::kFloat32 && compute != DType::kFloat64) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(const EValue base, ConvertScalar(arguments["self"], compute));
  const double* value = base.get_if<double>();
  const float rounded = value == nullptr ? 0 : static_cast<float>(*value);
  if ((compute == DType::kFloat32 || *value == 2) && rounded > 0 && rounded != 1 &&
      std::isfinite(rounded)) {
    request.params.Set(0, base);
    request.call.operands[0] = request.call.operands[1];
    request.call.count = 1;
    request.op = PointwiseOp::kPowOfBase;
  }
  return absl::OkStatus();
}

absl::Status Where(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(request.call, WhereCall<Arguments>::Read(arguments));
  request.op = PointwiseOp::kWhere;
  return absl::OkStatus();
}

// where(mask, value, self).
absl::Status MaskedFill(const Arguments& arguments, PointwiseRequest& request) {
  ABSL_ASSIGN_OR_RETURN(const MaskedFillCall<Arguments> call,
                        MaskedFillCall<Arguments>::Read(arguments));
  if (call.value.tensor == nullptr) {
    ABSL_RETURN_IF_ERROR(ConvertScalar(*call.value.value, call.types.compute).status());
  }
  request.call.types = call.types;
  for (const PointwiseOperand& operand : {call.operands[1], call.value, call.operands[0]}) {
    request.call.Append(operand);
  }
  request.op = PointwiseOp::kWhere;
  return absl::OkStatus();
}

// Call reader: a function, or one of the templates above.
using ReadFunction = absl::Status (*)(const Arguments&, PointwiseRequest&);

// Parsed call of a row.
template <auto kRead>
struct Request : PointwiseRequest {
  static absl::StatusOr<Request> Read(const Arguments& arguments) {
    Request request;
    if constexpr (std::is_convertible_v<decltype(kRead), ReadFunction>) {
      ABSL_RETURN_IF_ERROR(kRead(arguments, request));
    } else {
      ABSL_RETURN_IF_ERROR(kRead.Read(arguments, request));
    }
    return request;
  }
};

template <auto kRead>
absl::Status Run(KernelContext& context, const Request<kRead>& request) {
  ABSL_ASSIGN_OR_RETURN(const bool done, RunDense(context, request));
  return done ? absl::OkStatus() : RunRequest(context, request);
}

template <auto kRead>
bool Accepts(const KernelContext& context, const Request<kRead>& request) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && SupportsRequest(request, (*out)->dtype);
}

// glu: the first half times the sigmoid of the second.
struct Glu {};

PointwiseRequest RequestOf(const GluHalves& halves) {
  PointwiseRequest request;
  request.call = halves.call;
  request.op = PointwiseOp::kGlu;
  return request;
}

absl::Status RunGlu(KernelContext& context, const GluCall<Arguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  const GluHalves halves(call);
  return RunRequest(context, RequestOf(halves));
}

bool AcceptsGlu(const KernelContext& context, const GluCall<Arguments>& call) {
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && call.CheckShapes().ok() &&
         SupportsRequest(RequestOf(GluHalves(call)), (*out)->dtype);
}

template <auto kRead>
constexpr Kernel Row(std::string_view op, std::string_view signature, std::string_view name) {
  constexpr KernelEngine kHighway = KernelEngine::kHighway;
  if constexpr (std::is_same_v<decltype(kRead), Glu>) {
    return KernelRow<&RunGlu, &AcceptsGlu>(op, signature, name, kHighway);
  } else {
    return KernelRow<&Run<kRead>, &Accepts<kRead>>(op, signature, name, kHighway);
  }
}

constexpr Kernel kKernels[] = {
#define BELAY_POINTWISE_KERNEL(op, signature, name, read, max_ulp) Row<read>(op, signature, name),
#include "runtime/kernels/pointwise/kernels.inc"
};

}  // namespace

absl::Span<const Kernel> PointwiseKernels() { return kKernels; }

}  // namespace belay
