// From the arguments of calls to requests. The checks are those of the reference kernels: a call
// that they reject is left to them, with their message.
#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>

#include "runtime/core/status_macros.h"
#include "runtime/kernel/promotion_rules.h"
#include "runtime/kernel/shape_rules/dims.h"
#include "runtime/kernels/call/element_run.h"
#include "runtime/kernels/pointwise/pointwise.h"
#include "runtime/kernels/pointwise/pointwise_run.h"

namespace belay {
namespace {

absl::Status Refused() { return absl::InvalidArgumentError("left to the reference kernel"); }

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Operators without parameters.
template <int kCount, PromotionRule kRule, PointwiseOp kName, bool kExactLast = false>
struct Plain {
  static constexpr int kOperands = kCount;
  static constexpr PointwiseOp kOp = kName;

  static absl::Status Read(const KernelContext& context, PointwiseRequest& request) {
    ABSL_RETURN_IF_ERROR(context.CheckArity(kCount, 1));
    for (int i = 0; i < kCount; ++i) ABSL_RETURN_IF_ERROR(request.call.Add(context, i));
    ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kRule));
    request.op = kOp;
    request.exact_last = kExactLast;
    return absl::OkStatus();
  }
};

// ±2^k: a product with it needs no rounding but that of subnormal numbers.
bool IsPowerOfTwo(double x) {
  int exponent;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

// (self, other, alpha). The reference rounds a floating point sum and product once together; here
// they are two steps, so only factors whose product is exact are taken.
template <PromotionRule kRule, PointwiseOp kName>
struct Scaled {
  static constexpr int kOperands = 2;
  static constexpr PointwiseOp kOp = kName;

  static absl::Status Read(const KernelContext& context, PointwiseRequest& request) {
    ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
    for (int i = 0; i < 2; ++i) ABSL_RETURN_IF_ERROR(request.call.Add(context, i));
    ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kRule));
    const DType compute = request.types.compute;
    const EValue& alpha = context.argument(2);
    const bool takes = alpha.is<int64_t>() || (alpha.is<bool>() && compute == DType::kBool) ||
                       (alpha.is<double>() && !IsIntegral(compute, /*include_bool=*/true));
    if (!takes) return Refused();
    ABSL_ASSIGN_OR_RETURN(const EValue factor, ConvertScalar(alpha, compute));
    const double* real = factor.get_if<double>();
    if (real != nullptr && !IsPowerOfTwo(*real)) return Refused();
    request.params.Set(0, factor);
    request.op = kOp;
    return absl::OkStatus();
  }
};

// ~x, the negation for bool.
absl::Status BitwiseNot(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR((Plain<1, kIntegerOrBoolRule, PointwiseOp::kNot>::Read(context, request)));
  if (request.types.compute == DType::kBool) request.op = PointwiseOp::kLogicalNot;
  return absl::OkStatus();
}

bool IsNanNumber(const EValue& value) {
  const double* real = value.get_if<double>();
  return real != nullptr && std::isnan(*real);
}

absl::Status ClampToNumbers(PointwiseRequest& request, const EValue& low, const EValue& high) {
  if (IsNanNumber(low) || IsNanNumber(high)) return Refused();
  for (int k = 0; k < 2; ++k) {
    const EValue& bound = k == 0 ? low : high;
    if (bound.is_none()) continue;
    ABSL_ASSIGN_OR_RETURN(const EValue converted, ConvertScalar(bound, request.types.compute));
    request.params.Set(k, converted);
  }
  request.op = low.is_none()    ? PointwiseOp::kClampHigh
               : high.is_none() ? PointwiseOp::kClampLow
                                : PointwiseOp::kClampBoth;
  return absl::OkStatus();
}

// (self, min?, max?), the bounds numbers that take part in promotion, but for a self of floating
// point type.
absl::Status Clamp(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 0));
  if (context.is_none(1) && context.is_none(2)) return Refused();
  const bool promotes = !IsFloatingPoint(request.call.operand(0).dtype);
  for (int i = 1; i <= 2; ++i) {
    if (promotes && !context.is_none(i))
      ABSL_RETURN_IF_ERROR(request.call.PromoteWith(context.argument(i)));
  }
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kOrderedRule));
  return ClampToNumbers(request, context.argument(1), context.argument(2));
}

// (self, min?, max?), the bounds tensors. A NaN in any of the three is the result.
absl::Status ClampTensor(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  const bool has_min = !context.is_none(1), has_max = !context.is_none(2);
  if (!has_min && !has_max) return Refused();
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 0));
  if (has_min) ABSL_RETURN_IF_ERROR(request.call.Add(context, 1));
  if (has_max) ABSL_RETURN_IF_ERROR(request.call.Add(context, 2));
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kOrderedRule));
  request.op = !has_max   ? PointwiseOp::kMaximum
               : !has_min ? PointwiseOp::kMinimum
                          : PointwiseOp::kClampBetween;
  return absl::OkStatus();
}

// (self, min_val, max_val): the bounds do not take part in promotion.
absl::Status Hardtanh(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 0));
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kNumericRule));
  EValue bounds[2];
  for (int k = 0; k < 2; ++k) {
    ABSL_ASSIGN_OR_RETURN(bounds[k], context.Scalar(1 + k));
    if (!IsIntegral(request.types.compute, /*include_bool=*/false)) continue;
    ABSL_ASSIGN_OR_RETURN(bounds[k], ConvertScalar(bounds[k], DType::kInt64));
    const int64_t* bound = bounds[k].get_if<int64_t>();
    if (request.types.compute == DType::kUint8 && (bound == nullptr || *bound < 0))
      return Refused();
  }
  return ClampToNumbers(request, bounds[0], bounds[1]);
}

// Floating point self, and the numbers in arguments 1 … count in the precision of the arithmetic.
absl::Status FloatWithNumbers(const KernelContext& context, int count, PointwiseOp op,
                              PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(1 + count, 1));
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 0));
  const DType precision =
      request.call.operand(0).dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  for (int k = 0; k < count; ++k) {
    ABSL_ASSIGN_OR_RETURN(const EValue value, ConvertScalar(context.argument(1 + k), precision));
    request.params.Set(k, value);
  }
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kFloatOnlyRule));
  request.op = op;
  return absl::OkStatus();
}

absl::Status Elu(const KernelContext& context, PointwiseRequest& request) {
  return FloatWithNumbers(context, 3, PointwiseOp::kElu, request);
}

absl::Status LeakyRelu(const KernelContext& context, PointwiseRequest& request) {
  return FloatWithNumbers(context, 1, PointwiseOp::kLeakyRelu, request);
}

absl::Status Gelu(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const std::string_view form, context.String(1));
  if (form != "none" && form != "tanh") return Refused();
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 0));
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kFloatOnlyRule));
  request.op = form == "none" ? PointwiseOp::kGeluErf : PointwiseOp::kGeluTanh;
  return absl::OkStatus();
}

// (self, dim): the first half times the sigmoid of the second.
absl::Status Glu(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim_argument, context.Int(1));
  if (self->rank() == 0) return Refused();
  ABSL_ASSIGN_OR_RETURN(const int dim, NormalizeDim(dim_argument, self->rank()));
  if (self->sizes[dim] % 2 != 0) {
    return absl::InvalidArgumentError("glu: expected an even size of the halved dimension");
  }
  TensorView halves[2] = {*self, *self};
  for (TensorView& half : halves) half.sizes[dim] /= 2;
  if (self->numel() > 0 && self->data != nullptr) {
    halves[1].data =
        self->as<std::byte>() +
        static_cast<size_t>(halves[0].sizes[dim] * self->strides[dim]) * DTypeSize(self->dtype);
  }
  for (const TensorView& half : halves) request.call.AddTensor(half);
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kFloatOnlyRule));
  request.op = PointwiseOp::kGlu;
  return absl::OkStatus();
}

// (self, exponent): the exponents that need no pow().
absl::Status PowTensorScalar(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(2, 1));
  ABSL_ASSIGN_OR_RETURN(const EValue exponent, context.Scalar(1));
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 0));
  ABSL_RETURN_IF_ERROR(request.call.PromoteWith(exponent));
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kNoBoolRule));
  const DType compute = request.types.compute;
  ABSL_ASSIGN_OR_RETURN(const double e, context.Double(1));
  if (IsComplex(compute) || !IsQuickExponent(e, IsIntegral(compute, /*include_bool=*/true)))
    return Refused();
  ABSL_ASSIGN_OR_RETURN(const EValue converted,
                        ConvertScalar(exponent, IsHalf(compute) ? DType::kFloat32 : compute));
  request.params.Set(0, converted);
  request.op = PointwiseOp::kPow;
  return absl::OkStatus();
}

// (condition, self, other)
absl::Status Where(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* condition, context.Tensor(0));
  if (condition->dtype != DType::kBool && condition->dtype != DType::kUint8) return Refused();
  request.call.AddMask(*condition);
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 1));
  ABSL_RETURN_IF_ERROR(request.call.Add(context, 2));
  ABSL_ASSIGN_OR_RETURN(request.types, request.call.Promote(kAnyRule));
  request.op = PointwiseOp::kWhere;
  return absl::OkStatus();
}

// (self, mask, value), the value a number or a tensor without dimensions: where(mask, value, self).
absl::Status MaskedFill(const KernelContext& context, PointwiseRequest& request) {
  ABSL_RETURN_IF_ERROR(context.CheckArity(3, 1));
  ABSL_ASSIGN_OR_RETURN(const TensorView* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const TensorView* mask, context.Tensor(1));
  if (mask->dtype != DType::kBool) return Refused();
  request.call.AddMask(*mask);
  request.types = {self->dtype, self->dtype};
  request.op = PointwiseOp::kWhere;
  if (const TensorView* value = context.argument(2).get_if<TensorView>()) {
    if (value->rank() != 0) return Refused();
    request.call.AddMask(*value);
  } else {
    ABSL_ASSIGN_OR_RETURN(const EValue number, context.Scalar(2));
    ABSL_RETURN_IF_ERROR(ConvertScalar(number, self->dtype).status());
    ABSL_RETURN_IF_ERROR(request.call.Add(context, 2));
  }
  request.call.AddTensor(*self);
  return absl::OkStatus();
}

// What reads the arguments: a function, or one of the forms above.
using ReadArguments = absl::Status (*)(const KernelContext&, PointwiseRequest&);

template <auto kRead>
absl::Status Read(const KernelContext& context, PointwiseRequest& request) {
  if constexpr (std::is_convertible_v<decltype(kRead), ReadArguments>) {
    return kRead(context, request);
  } else {
    return kRead.Read(context, request);
  }
}

// float32 tensors of one layout without gaps, which need no broadcast, promotion or cursor: most of
// what models compute, and many a tensor of it is small. False: it is another call.
template <class Form>
absl::StatusOr<bool> RunDense(KernelContext& context) {
  constexpr int kOperands = Form::kOperands;
  if (context.num_arguments() < kOperands || context.num_outputs() != 1) return false;
  const TensorView* first = context.argument(0).get_if<TensorView>();
  if (first == nullptr || first->dtype != DType::kFloat32) return false;
  PointwiseParams params;
  const void* operands[2] = {first->data};
  if constexpr (kOperands == 2) {
    const TensorView* second = context.argument(1).get_if<TensorView>();
    if (second == nullptr || second->dtype != DType::kFloat32 || !(second->sizes == first->sizes) ||
        !(second->strides == first->strides)) {
      return false;
    }
    operands[1] = second->data;
    if (context.num_arguments() == 3) {
      const int64_t* alpha = context.argument(2).get_if<int64_t>();
      if (alpha == nullptr || *alpha != 1) return false;
      params.Set(0, EValue(int64_t{1}));
    }
  }
  const TensorView* out = context.output_slot(0)->get_if<TensorView>();
  const DType made = IsComparison(Form::kOp) ? DType::kBool : DType::kFloat32;
  if (out == nullptr || out->dtype != made || !IsDense(first->sizes, first->strides)) return false;
  ABSL_ASSIGN_OR_RETURN(out, context.Output(0, first->sizes));
  if (!(out->strides == first->strides)) return false;
  const VectorLoop loop = FindLoop(Form::kOp, DType::kFloat32);
  if (loop == nullptr) return false;
  loop(operands, out->data, static_cast<size_t>(out->numel()), params);
  return true;
}

template <auto kRead>
absl::Status Run(KernelContext& context) {
  if constexpr (!std::is_convertible_v<decltype(kRead), ReadArguments>) {
    ABSL_ASSIGN_OR_RETURN(const bool done, RunDense<decltype(kRead)>(context));
    if (done) return absl::OkStatus();
  }
  PointwiseRequest request;
  ABSL_RETURN_IF_ERROR(Read<kRead>(context, request));
  return RunRequest(context, request);
}

template <auto kRead>
bool Accepts(const KernelContext& context) {
  PointwiseRequest request;
  if (!Read<kRead>(context, request).ok()) return false;
  const absl::StatusOr<const TensorView*> out = context.PlannedOutput(0);
  return out.ok() && TakesRequest(request, (*out)->dtype);
}

constexpr Kernel kKernels[] = {
#define BELAY_POINTWISE_KERNEL(op, name, read, max_ulp) \
  {op, name, KernelEngine::kHighway, &Run<read>, &Accepts<read>},
#include "runtime/kernels/pointwise/kernels.inc"
};

}  // namespace

absl::Span<const Kernel> PointwiseKernels() { return kKernels; }

}  // namespace belay
