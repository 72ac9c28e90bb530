// Operators of two tensors, or of a tensor and a scalar, and the selections where and masked_fill.
//
// Integer arithmetic wraps. Integer division by zero is an error, even for dtypes whose PyTorch
// kernel does not report one.
#include <cmath>
#include <complex>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/core/python_floats.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/pointwise.h"
#include "runtime/kernels/operands/pointwise.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Arithmetic modulo 2^64 for integers.
template <class T>
T Sum(T a, T b) {
  if constexpr (IntegerLike<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T Difference(T a, T b) {
  if constexpr (IntegerLike<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}
template <class T>
T Product(T a, T b) {
  if constexpr (IntegerLike<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// Rounds towards zero. Precondition of the integer functions: b != 0.
template <RealLike T>
T TruncatedQuotient(T a, T b) {
  if constexpr (FloatLike<T>) {
    return std::trunc(a / b);
  } else if constexpr (std::is_signed_v<T>) {
    return b == -1 ? Difference(T{0}, a) : a / b;
  } else {
    return a / b;
  }
}

template <RealLike T>
T TruncatedRemainder(T a, T b) {
  if constexpr (FloatLike<T>) {
    return std::fmod(a, b);
  } else if constexpr (std::is_signed_v<T>) {
    return b == -1 ? 0 : a % b;
  } else {
    return a % b;
  }
}

// Python's %: the result has the sign of the divisor.
template <RealLike T>
T FlooredRemainder(T a, T b) {
  const T r = TruncatedRemainder(a, b);
  return r != 0 && ((b < 0) != (r < 0)) ? r + b : r;
}

template <RealLike T>
T FlooredQuotient(T a, T b) {
  if constexpr (FloatLike<T>) {
    return PythonFloatFloorDiv(a, b);
  } else {
    const T r = TruncatedRemainder(a, b);
    const T q = TruncatedQuotient(a, b);
    return r != 0 && ((b < 0) != (r < 0)) ? q - 1 : q;
  }
}

// a^b modulo 2^64. For negative b, 1 / a^-b rounded towards zero (0 if a is 0, as in PyTorch).
template <IntegerLike T>
T IntegerPower(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b < 0) {
      if (a == 1) return 1;
      if (a == -1) return b % 2 == 0 ? 1 : -1;
      return 0;
    }
  }
  uint64_t result = 1, base = static_cast<uint64_t>(a);
  for (uint64_t e = static_cast<uint64_t>(b); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

constexpr auto kPower = [](auto a, auto b) {
  if constexpr (IntegerLike<decltype(a)>) {
    return IntegerPower(a, b);
  } else {
    return std::pow(a, b);
  }
};

// For some scalar exponents PyTorch does not call pow(); the results differ at infinities and
// zeros.
constexpr auto kPowerOfNumber = [](auto a, const PointwiseParams& params) {
  using T = decltype(a);
  const T e = params.Get<T>(0);
  if constexpr (IntegerLike<T>) {
    return IntegerPower(a, e);
  } else {
    const auto is = [&](double value) { return e == static_cast<T>(value); };
    if (is(0)) return T{1};
    if (is(1)) return a;
    if (is(2)) return a * a;
    if (is(3)) return a * a * a;
    if (is(0.5)) return std::sqrt(a);
    if (is(-0.5)) return T{1} / std::sqrt(a);
    if (is(-1)) return T{1} / a;
    if (is(-2)) return T{1} / (a * a);
    return std::pow(a, e);
  }
};

template <class T>
bool IsNan(T x) {
  return x != x;
}
constexpr auto kMaximum = [](RealLike auto a, RealLike auto b) {
  return IsNan(a) ? a : IsNan(b) || b > a ? b : a;
};
constexpr auto kMinimum = [](RealLike auto a, RealLike auto b) {
  return IsNan(a) ? a : IsNan(b) || b < a ? b : a;
};

// A negative count, or one of at least 64, shifts out all bits. Narrow integers compute as int64_t:
// bits shifted out of them are cut off when the result is stored.
template <IntegerLike T>
T ShiftedLeft(T a, T b) {
  return static_cast<uint64_t>(b) >= 64 ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << b);
}
template <IntegerLike T>
T ShiftedRight(T a, T b) {
  if (static_cast<uint64_t>(b) < 64) return a >> b;
  return a < 0 ? static_cast<T>(-1) : T{0};
}

// (self, other, alpha). `kPlain` is the operator for alpha == 1.
template <PromotionRule kRule, auto kApply, auto kPlain>
absl::Status RunScaled(KernelContext& context, const ScaledCall<KernelArguments, kRule>& call) {
  ABSL_ASSIGN_OR_RETURN(const EValue alpha, ConvertScalar(*call.alpha.value, call.types.compute));
  PointwiseParams params;
  params.Set(0, alpha);
  // A complex product turns infinities into NaN even for a factor of one.
  const bool plain = params.Get<std::complex<double>>(0) == 1.0 && !IsComplex(call.types.compute);
  return RunPointwise(context, call, plain ? kBinary<kPlain> : kBinary<kApply>, params);
}

// a + b * factor; floating-point results are rounded once, as in PyTorch.
template <class T>
T SumWithProduct(T a, T b, T factor) {
  if constexpr (FloatLike<T>) {
    return std::fma(b, factor, a);
  } else {
    return Sum(a, Product(b, factor));
  }
}
template <class T>
T DifferenceFromProduct(T a, T b, T factor) {
  if constexpr (FloatLike<T>) {
    return std::fma(b, -factor, a);
  } else {
    return Difference(a, Product(b, factor));
  }
}

constexpr auto kAddScaled = [](auto a, auto b, const PointwiseParams& p) {
  return SumWithProduct(a, b, p.Get<decltype(a)>(0));
};
constexpr auto kSubScaled = [](auto a, auto b, const PointwiseParams& p) {
  return DifferenceFromProduct(a, b, p.Get<decltype(a)>(0));
};
constexpr auto kReverseSubScaled = [](auto a, auto b, const PointwiseParams& p) {
  return DifferenceFromProduct(b, a, p.Get<decltype(a)>(0));
};
constexpr auto kAdd = [](auto a, auto b) { return Sum(a, b); };
constexpr auto kSub = [](auto a, auto b) { return Difference(a, b); };
constexpr auto kReverseSub = [](auto a, auto b) { return Difference(b, a); };

constexpr auto kTrueQuotient = [](FloatOrComplex auto a, FloatOrComplex auto b) { return a / b; };
constexpr auto kTruncatedQuotient = [](RealLike auto a, RealLike auto b) {
  return TruncatedQuotient(a, b);
};
// Half precision: every step is rounded.
template <class Narrow>
constexpr auto kRounded =
    [](FloatLike auto x) { return ConvertElement<decltype(x)>(ConvertElement<Narrow>(x)); };
template <class Narrow>
constexpr auto kRoundedTruncatedQuotient =
    [](FloatLike auto a, FloatLike auto b) { return std::trunc(kRounded<Narrow>(a / b)); };
template <class Narrow>
constexpr auto kRoundedFlooredQuotient =
    [](FloatLike auto a, FloatLike auto b) { return PythonFloatFloorDiv(a, b, kRounded<Narrow>); };
constexpr auto kFlooredQuotient = [](RealLike auto a, RealLike auto b) {
  return FlooredQuotient(a, b);
};

absl::Status DivMode(KernelContext& context, const DivModeCall<KernelArguments>& call) {
  if (call.rounding == QuotientRounding::kNone)
    return RunPointwise(context, call, kBinary<kTrueQuotient>, {}, /*exact_last=*/true);
  // A divisor of one element is not rounded to half precision, in any mode. Results computed with
  // it are rounded only at the end.
  const TensorView* const divisor = call.operands[1].tensor;
  const bool rounds = divisor != nullptr && divisor->numel() != 1;
  const bool trunc = call.rounding == QuotientRounding::kTrunc;
  const LoopTable* table = trunc ? &kDivision<kTruncatedQuotient> : &kDivision<kFlooredQuotient>;
  if (rounds && call.types.compute == DType::kFloat16) {
    table =
        trunc ? &kBinary<kRoundedTruncatedQuotient<Half>> : &kBinary<kRoundedFlooredQuotient<Half>>;
  } else if (rounds && call.types.compute == DType::kBFloat16) {
    table = trunc ? &kBinary<kRoundedTruncatedQuotient<BFloat16>>
                  : &kBinary<kRoundedFlooredQuotient<BFloat16>>;
  }
  return RunPointwise(context, call, *table, {}, /*exact_last=*/true);
}

absl::Status PowTensorScalar(KernelContext& context, const PowerCall<KernelArguments>& call) {
  const DType compute = call.types.compute;
  const EValue& exponent = *call.exponent.value;
  // An exponent that is too large for float32 counts as infinite; for other types it is an error.
  const bool single = compute == DType::kFloat32;
  ABSL_ASSIGN_OR_RETURN(EValue converted,
                        ConvertScalar(exponent, single ? DType::kFloat64 : compute));
  if (compute == DType::kFloat16 || compute == DType::kBFloat16) {
    ABSL_ASSIGN_OR_RETURN(converted, ConvertScalar(exponent, DType::kFloat32));
  }
  PointwiseParams params;
  params.Set(0, converted);
  return RunPointwise(context, call, kUnary<kPowerOfNumber>, params);
}

constexpr auto kAtan2 = [](FloatLike auto a, FloatLike auto b) { return std::atan2(a, b); };
template <class Narrow>
constexpr auto kRoundedAtan2 = [](FloatLike auto a, FloatLike auto b) {
  return ConvertElement<decltype(a)>(ConvertElement<Narrow>(std::atan2(a, b)));
};

// The result is `out`. An empty `out` is not resized; only the result then has the elements.
absl::Status Atan2Out(KernelContext& context, const Atan2OutCall<KernelArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, context.MutableTensor(call.target));
  PointwiseOperands<KernelArguments> operands = call;
  operands.types.result = out->dtype;
  // A result of a wider type still has the precision of the common dtype.
  const DType compute = call.types.compute;
  const LoopTable& table = compute == DType::kFloat16    ? kBinary<kRoundedAtan2<Half>>
                           : compute == DType::kBFloat16 ? kBinary<kRoundedAtan2<BFloat16>>
                                                         : kBinary<kAtan2>;
  ABSL_RETURN_IF_ERROR(RunPointwise(context, operands, table));
  const TensorView* result = context.output_slot(0)->get_if<TensorView>();
  if (result->data == out->data || out->numel() == 0) return absl::OkStatus();
  return CopyElements(*result, *out);
}

absl::Status Where(KernelContext& context, const WhereCall<KernelArguments>& call) {
  return RunPointwise(context, call,
                      kTernary<[](auto c, auto a, auto b) { return c != decltype(c){} ? a : b; }>);
}

absl::Status MaskedFill(KernelContext& context, const MaskedFillCall<KernelArguments>& call) {
  if (call.value.tensor != nullptr) {
    PointwiseOperands<KernelArguments> operands = call;
    operands.Append(call.value);
    return RunPointwise(
        context, operands,
        kTernary<[](auto a, auto m, auto v) { return m != decltype(m){} ? v : a; }>);
  }
  ABSL_ASSIGN_OR_RETURN(const EValue value, ConvertScalar(*call.value.value, call.types.compute));
  PointwiseParams params;
  params.Set(0, value);
  return RunPointwise(context, call, kBinary<[](auto a, auto m, const PointwiseParams& p) {
                        return m != decltype(m){} ? p.Get<decltype(a)>(0) : a;
                      }>,
                      params);
}

constexpr KernelEngine kReference = KernelEngine::kReference;
constexpr std::string_view kOperands = "self other", kScaledOperands = "self other alpha";

template <PromotionRule kRule, const LoopTable& kTable, bool kExactLast = false>
absl::Status Run(KernelContext& context, const PlainCall<KernelArguments, 2, kRule>& call) {
  return RunPointwise(context, call, kTable, {}, kExactLast);
}
template <PromotionRule kRule, auto kApply>
constexpr Kernel Row(std::string_view op, std::string_view name,
                     std::string_view signature = kOperands) {
  return KernelRow<&Run<kRule, kBinary<kApply>>>(op, signature, name, kReference);
}
template <PromotionRule kRule, auto kApply>
constexpr Kernel ExactRow(std::string_view op, std::string_view name) {
  return KernelRow<&Run<kRule, kBinary<kApply>, true>>(op, kOperands, name, kReference);
}
template <auto kApply, bool kExactLast = false>
constexpr Kernel DivisionRow(std::string_view op, std::string_view name) {
  return KernelRow<&Run<kNumericRule, kDivision<kApply>, kExactLast>>(op, kOperands, name,
                                                                      kReference);
}

constexpr auto kProduct = [](auto a, auto b) { return Product(a, b); };
constexpr auto kBitAnd = [](IntegerLike auto a, IntegerLike auto b) { return a & b; };
constexpr auto kBitOr = [](IntegerLike auto a, IntegerLike auto b) { return a | b; };
constexpr auto kBitXor = [](IntegerLike auto a, IntegerLike auto b) { return a ^ b; };
constexpr auto kLeftShift = [](IntegerLike auto a, IntegerLike auto b) {
  return ShiftedLeft(a, b);
};
constexpr auto kRightShift = [](IntegerLike auto a, IntegerLike auto b) {
  return ShiftedRight(a, b);
};
constexpr auto kFmod = [](RealLike auto a, RealLike auto b) { return TruncatedRemainder(a, b); };
constexpr auto kRemainder = [](RealLike auto a, RealLike auto b) { return FlooredRemainder(a, b); };
constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kLt = [](RealLike auto a, RealLike auto b) { return a < b; };
constexpr auto kLe = [](RealLike auto a, RealLike auto b) { return a <= b; };
constexpr auto kGt = [](RealLike auto a, RealLike auto b) { return a > b; };
constexpr auto kGe = [](RealLike auto a, RealLike auto b) { return a >= b; };
constexpr auto kCopysign = [](FloatLike auto a, FloatLike auto b) { return std::copysign(a, b); };

constexpr Kernel kKernels[] = {
    KernelRow<&RunScaled<kAnyRule, kAddScaled, kAdd>>("aten.add.Scalar", kScaledOperands,
                                                      "AddScalar", kReference),
    KernelRow<&RunScaled<kAnyRule, kAddScaled, kAdd>>("aten.add.Tensor", kScaledOperands, "Add",
                                                      kReference),
    Row<kOrderedToFloatRule, [](FloatLike auto a, FloatLike auto b) { return std::atan2(a, b); }>(
        "aten.atan2.default", "Atan2"),
    KernelRow<&Atan2Out>("aten.atan2.out", "self other out", "Atan2Out", kReference),
    Row<kIntegerOrBoolRule, kBitAnd>("aten.bitwise_and.Scalar", "BitwiseAndScalar"),
    Row<kIntegerOrBoolRule, kBitAnd>("aten.bitwise_and.Tensor", "BitwiseAnd"),
    Row<kIntegerRule, kLeftShift>("aten.bitwise_left_shift.Tensor", "LeftShift"),
    Row<kIntegerRule, kLeftShift>("aten.bitwise_left_shift.Tensor_Scalar", "LeftShiftScalar"),
    Row<kIntegerOrBoolRule, kBitOr>("aten.bitwise_or.Scalar", "BitwiseOrScalar"),
    Row<kIntegerOrBoolRule, kBitOr>("aten.bitwise_or.Tensor", "BitwiseOr"),
    Row<kIntegerRule, kRightShift>("aten.bitwise_right_shift.Tensor", "RightShift"),
    Row<kIntegerRule, kRightShift>("aten.bitwise_right_shift.Tensor_Scalar", "RightShiftScalar"),
    Row<kIntegerOrBoolRule, kBitXor>("aten.bitwise_xor.Scalar", "BitwiseXorScalar"),
    Row<kIntegerOrBoolRule, kBitXor>("aten.bitwise_xor.Tensor", "BitwiseXor"),
    Row<kOrderedToFloatRule, kCopysign>("aten.copysign.Scalar", "CopysignScalar"),
    Row<kOrderedToFloatRule, kCopysign>("aten.copysign.Tensor", "Copysign"),
    ExactRow<kToFloatRule, kTrueQuotient>("aten.div.Scalar", "DivScalar"),
    KernelRow<&DivMode>("aten.div.Scalar_mode", "self other rounding_mode", "DivScalarMode",
                        kReference),
    ExactRow<kToFloatRule, kTrueQuotient>("aten.div.Tensor", "Div"),
    KernelRow<&DivMode>("aten.div.Tensor_mode", "self other rounding_mode", "DivMode", kReference),
    Row<kAnyToBoolRule, kEq>("aten.eq.Scalar", "EqScalar"),
    Row<kAnyToBoolRule, kEq>("aten.eq.Tensor", "Eq"),
    DivisionRow<kFlooredQuotient, true>("aten.floor_divide.default", "FloorDivide"),
    DivisionRow<kFmod>("aten.fmod.Scalar", "FmodScalar"),
    DivisionRow<kFmod>("aten.fmod.Tensor", "Fmod"),
    Row<kOrderedToBoolRule, kGe>("aten.ge.Scalar", "GeScalar"),
    Row<kOrderedToBoolRule, kGe>("aten.ge.Tensor", "Ge"),
    Row<kOrderedToBoolRule, kGt>("aten.gt.Scalar", "GtScalar"),
    Row<kOrderedToBoolRule, kGt>("aten.gt.Tensor", "Gt"),
    Row<kFloatOnlyRule, [](FloatLike auto a, FloatLike auto b) { return std::hypot(a, b); }>(
        "aten.hypot.default", "Hypot"),
    Row<kOrderedToBoolRule, kLe>("aten.le.Scalar", "LeScalar"),
    Row<kOrderedToBoolRule, kLe>("aten.le.Tensor", "Le"),
    Row<kAnyToBoolRule, [](auto a, auto b) { return a != decltype(a){} && b != decltype(b){}; }>(
        "aten.logical_and.default", "LogicalAnd"),
    Row<kAnyToBoolRule, [](auto a, auto b) { return a != decltype(a){} || b != decltype(b){}; }>(
        "aten.logical_or.default", "LogicalOr"),
    Row<kAnyToBoolRule,
        [](auto a, auto b) { return (a != decltype(a){}) != (b != decltype(b){}); }>(
        "aten.logical_xor.default", "LogicalXor"),
    Row<kOrderedToBoolRule, kLt>("aten.lt.Scalar", "LtScalar"),
    Row<kOrderedToBoolRule, kLt>("aten.lt.Tensor", "Lt"),
    KernelRow<&MaskedFill>("aten.masked_fill.Scalar", "self mask value", "MaskedFillScalar",
                           kReference),
    KernelRow<&MaskedFill>("aten.masked_fill.Tensor", "self mask value", "MaskedFill", kReference),
    Row<kOrderedRule, kMaximum>("aten.maximum.default", "Maximum"),
    Row<kOrderedRule, kMinimum>("aten.minimum.default", "Minimum"),
    ExactRow<kAnyRule, kProduct>("aten.mul.Scalar", "MulScalar"),
    ExactRow<kAnyRule, kProduct>("aten.mul.Tensor", "Mul"),
    Row<kAnyToBoolRule, kNe>("aten.ne.Scalar", "NeScalar"),
    Row<kAnyToBoolRule, kNe>("aten.ne.Tensor", "Ne"),
    Row<kNoBoolRule, kPower>("aten.pow.Scalar", "PowScalar", "self exponent"),
    KernelRow<&PowTensorScalar>("aten.pow.Tensor_Scalar", "self exponent", "PowTensorScalar",
                                kReference),
    Row<kNoBoolRule, kPower>("aten.pow.Tensor_Tensor", "Pow", "self exponent"),
    DivisionRow<kRemainder>("aten.remainder.Scalar", "RemainderScalar"),
    DivisionRow<kRemainder>("aten.remainder.Tensor", "Remainder"),
    KernelRow<&RunScaled<kNoBoolRule, kReverseSubScaled, kReverseSub>>(
        "aten.rsub.Scalar", kScaledOperands, "RsubScalar", kReference),
    KernelRow<&RunScaled<kNoBoolRule, kSubScaled, kSub>>("aten.sub.Scalar", kScaledOperands,
                                                         "SubScalar", kReference),
    KernelRow<&RunScaled<kNoBoolRule, kSubScaled, kSub>>("aten.sub.Tensor", kScaledOperands, "Sub",
                                                         kReference),
    KernelRow<&Where>("aten.where.self", "condition self other", "Where", kReference),
    // Aliases with the names of Python's operators.
    Row<kIntegerRule, kLeftShift>("aten.__lshift__.Scalar", "LShiftScalar"),
    Row<kIntegerRule, kLeftShift>("aten.__lshift__.Tensor", "LShift"),
    Row<kIntegerRule, kRightShift>("aten.__rshift__.Scalar", "RShiftScalar"),
    Row<kIntegerRule, kRightShift>("aten.__rshift__.Tensor", "RShift"),
};

}  // namespace

absl::Span<const Kernel> BinaryKernels() { return kKernels; }

}  // namespace belay
