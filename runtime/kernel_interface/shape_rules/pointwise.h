// Calls of pointwise operators: operands, compute dtype and parameters.
//
// Operands are tensors, or scalars in place of tensors: exported programs pass scalars where the
// schema says Tensor.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_POINTWISE_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_POINTWISE_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "runtime/core/dtype.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel.h"
#include "runtime/kernel_interface/orthogonal_polynomials.h"
#include "runtime/kernel_interface/promotion_rules.h"
#include "runtime/kernel_interface/shape_rules/broadcast.h"

namespace belay {

inline constexpr int kMaxOperands = 3;

// Common base of the calls below.
template <class Arguments>
struct PointwiseOperands {
  typename Arguments::OperandRef operands[kMaxOperands];
  int count = 0;
  PromotedTypes types = {DType::kFloat32, DType::kFloat32};

  // Precondition: count < kMaxOperands.
  void Append(const typename Arguments::OperandRef& operand) { operands[count++] = operand; }

  // Returns the broadcast shape of the operands.
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    Dims<D> shape;
    for (int k = 0; k < count; ++k) {
      if (operands[k].tensor == nullptr) continue;
      const auto& own = Arguments::SizesOf(operands[k].tensor);
      ABSL_ASSIGN_OR_RETURN(shape, BroadcastShape<D>(shape, own));
    }
    return shape;
  }
};

// Reads operands into a call, in order, and promotes their dtypes.
template <class Arguments>
class OperandReader {
 public:
  // Both must outlive the reader.
  OperandReader(const Arguments& arguments, PointwiseOperands<Arguments>& call)
      : arguments_(arguments), call_(call) {}

  // Adds an operand that takes part in promotion.
  absl::Status Add(std::string_view name) {
    ABSL_ASSIGN_OR_RETURN(const typename Arguments::OperandRef operand, arguments_.Operand(name));
    if (operand.tensor == nullptr) {
      promotion_.AddScalar(operand.dtype);
    } else {
      promotion_.AddTensor(operand.dtype, operand.tensor->rank());
    }
    call_.Append(operand);
    return absl::OkStatus();
  }
  // Adds a tensor operand of one of these dtypes that does not take part in promotion.
  absl::Status AddMask(std::string_view name, DTypeSet types) {
    ABSL_RETURN_IF_ERROR(arguments_.Tensor(name).status());
    ABSL_ASSIGN_OR_RETURN(const typename Arguments::OperandRef operand, arguments_.Operand(name));
    if (!types.contains(operand.dtype)) {
      return arguments_.ArgumentError(name, absl::StrCat("expected dtype ", FormatDTypeSet(types),
                                                         ", got ", DTypeName(operand.dtype)));
    }
    call_.Append(operand);
    return absl::OkStatus();
  }
  // Promotes with a scalar that is not an operand.
  void PromoteWith(const typename Arguments::OperandRef& number) {
    promotion_.AddScalar(number.dtype);
  }
  // Sets the call's dtypes.
  absl::Status Promote(const PromotionRule& rule) {
    const absl::StatusOr<PromotedTypes> types = belay::Promote(rule, promotion_);
    if (!types.ok()) return arguments_.Error(FromAbsl(types.status().message()));
    call_.types = *types;
    return absl::OkStatus();
  }

 private:
  const Arguments& arguments_;
  PointwiseOperands<Arguments>& call_;
  TypePromotion promotion_;
};

// Operators without parameters. Operands: self, or self and other (which pow calls exponent).
template <class Arguments, int kCount, PromotionRule kRule>
struct PlainCall : PointwiseOperands<Arguments> {
  static absl::StatusOr<PlainCall> Read(const Arguments& arguments) {
    PlainCall call;
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    if (kCount == 2) {
      ABSL_RETURN_IF_ERROR(reader.Add(arguments.Has("exponent") ? "exponent" : "other"));
    }
    ABSL_RETURN_IF_ERROR(reader.Promote(kRule));
    return call;
  }
};

// add, sub, rsub: alpha multiplies one operand. Its category must not exceed that of the result's
// dtype.
template <class Arguments, PromotionRule kRule>
struct ScaledCall : PointwiseOperands<Arguments> {
  typename Arguments::OperandRef alpha;

  static absl::StatusOr<ScaledCall> Read(const Arguments& arguments) {
    ScaledCall call;
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Add("other"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kRule));
    ABSL_ASSIGN_OR_RETURN(call.alpha, arguments.Number("alpha"));
    const DType type = call.alpha.dtype, compute = call.types.compute;
    std::string_view refused;
    if (type == DType::kBool && compute != DType::kBool) refused = "a bool";
    if (IsFloatingPoint(type) && IsIntegral(compute, /*include_bool=*/true)) refused = "a float";
    if (IsComplex(type) && !IsComplex(compute)) refused = "a complex number";
    if (refused.empty()) return call;
    return arguments.ArgumentError("alpha",
                                   absl::StrCat(refused, " does not scale ", DTypeName(compute)));
  }
};

enum class QuotientRounding { kNone, kTrunc, kFloor };

// div with a rounding mode; None means true division.
template <class Arguments>
struct DivModeCall : PointwiseOperands<Arguments> {
  QuotientRounding rounding = QuotientRounding::kNone;

  static absl::StatusOr<DivModeCall> Read(const Arguments& arguments) {
    DivModeCall call;
    if (!arguments.IsNone("rounding_mode")) {
      ABSL_ASSIGN_OR_RETURN(const auto mode, arguments.String("rounding_mode"));
      if (mode != "trunc" && mode != "floor") {
        return arguments.ArgumentError(
            "rounding_mode", absl::StrCat("expected trunc, floor or none, got '", mode, "'"));
      }
      call.rounding = mode == "trunc" ? QuotientRounding::kTrunc : QuotientRounding::kFloor;
    }
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Add("other"));
    ABSL_RETURN_IF_ERROR(
        reader.Promote(call.rounding == QuotientRounding::kNone ? kToFloatRule : kNumericRule));
    return call;
  }
};

// pow with a scalar exponent, which takes part in promotion but is not an operand.
template <class Arguments>
struct PowerCall : PointwiseOperands<Arguments> {
  typename Arguments::OperandRef exponent;

  static absl::StatusOr<PowerCall> Read(const Arguments& arguments) {
    PowerCall call;
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_ASSIGN_OR_RETURN(call.exponent, arguments.Number("exponent"));
    reader.PromoteWith(call.exponent);
    ABSL_RETURN_IF_ERROR(reader.Promote(kNoBoolRule));
    if (!IsIntegral(call.types.compute, /*include_bool=*/true)) return call;
    ABSL_ASSIGN_OR_RETURN(const typename Arguments::Dim number, arguments.Int("exponent"));
    const std::optional<int64_t> known = KnownInt(number);
    if (known.value_or(0) >= 0) return call;
    return arguments.ArgumentError(
        "exponent", absl::StrCat("an integer to the power of ", *known, " is not an integer"));
  }
};

// atan2.out: the result is `out`, of any floating point or complex dtype.
template <class Arguments>
struct Atan2OutCall : PointwiseOperands<Arguments> {
  typename Arguments::TensorRef out;
  MutableArgument target;  // `out`, to write to

  static absl::StatusOr<Atan2OutCall> Read(const Arguments& arguments) {
    Atan2OutCall call;
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Add("other"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kOrderedToFloatRule));
    ABSL_ASSIGN_OR_RETURN(call.out, arguments.Tensor("out"));
    ABSL_ASSIGN_OR_RETURN(call.target, arguments.Mutable("out"));
    if ((kFloatTypes | kComplexTypes).contains(call.out->dtype)) return call;
    return arguments.ArgumentError(
        "out", absl::StrCat("a result of dtype ", DTypeName(call.types.result),
                            " can't be written to ", DTypeName(call.out->dtype)));
  }
};

// where: operands condition, self, other.
template <class Arguments>
struct WhereCall : PointwiseOperands<Arguments> {
  static absl::StatusOr<WhereCall> Read(const Arguments& arguments) {
    WhereCall call;
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.AddMask("condition", {DType::kBool, DType::kUint8}));
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Add("other"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kAnyRule));
    return call;
  }
};

// masked_fill: operands self and mask; computes in the dtype of self.
template <class Arguments>
struct MaskedFillCall : PointwiseOperands<Arguments> {
  typename Arguments::OperandRef value;  // a scalar or a tensor of rank 0

  static absl::StatusOr<MaskedFillCall> Read(const Arguments& arguments) {
    MaskedFillCall call;
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(arguments.Tensor("self").status());
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.AddMask("mask", {DType::kBool}));
    call.types = {call.operands[0].dtype, call.operands[0].dtype};
    ABSL_ASSIGN_OR_RETURN(call.value, arguments.Operand("value"));
    if (call.value.tensor == nullptr || call.value.tensor->rank() == 0) return call;
    return arguments.ArgumentError("value",
                                   absl::StrCat("expected a tensor without dimensions, got ",
                                                call.value.tensor->rank(), " dimensions"));
  }
};

// clamp with scalars; one may be None. They take part in promotion unless self has a
// floating point dtype.
template <class Arguments>
struct ClampCall : PointwiseOperands<Arguments> {
  typename Arguments::OperandRef min, max;

  static absl::StatusOr<ClampCall> Read(const Arguments& arguments) {
    ClampCall call;
    OperandReader<Arguments> reader(arguments, call);
    if (arguments.IsNone("min") && arguments.IsNone("max")) {
      return arguments.Error("at least one of 'min' and 'max' must be given");
    }
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    const DType self = call.operands[0].dtype;
    for (const auto& [name, bound] : {std::pair("min", &call.min), std::pair("max", &call.max)}) {
      if (arguments.IsNone(name)) continue;
      if (IsFloatingPoint(self)) {
        ABSL_ASSIGN_OR_RETURN(*bound, arguments.NumberFor(name, self));
      } else {
        ABSL_ASSIGN_OR_RETURN(*bound, arguments.Number(name));
        reader.PromoteWith(*bound);
      }
    }
    ABSL_RETURN_IF_ERROR(reader.Promote(kOrderedRule));
    return call;
  }
};

// clamp with tensors; one may be None. Operands: self, then the tensors that are present.
template <class Arguments>
struct ClampTensorCall : PointwiseOperands<Arguments> {
  bool has_min = false, has_max = false;

  static absl::StatusOr<ClampTensorCall> Read(const Arguments& arguments) {
    ClampTensorCall call;
    call.has_min = !arguments.IsNone("min");
    call.has_max = !arguments.IsNone("max");
    if (!call.has_min && !call.has_max) {
      return arguments.Error("at least one of 'min' and 'max' must be given");
    }
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    if (call.has_min) ABSL_RETURN_IF_ERROR(reader.Add("min"));
    if (call.has_max) ABSL_RETURN_IF_ERROR(reader.Add("max"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kOrderedRule));
    return call;
  }
};

// Operators of self and real scalars that do not take part in promotion: hardtanh, elu, leaky_relu.
template <class Arguments, PromotionRule kRule>
struct WithNumbersCall : PointwiseOperands<Arguments> {
  typename Arguments::OperandRef numbers[3];
  int num_numbers = 0;

  static absl::StatusOr<WithNumbersCall> Read(const Arguments& arguments) {
    WithNumbersCall call;
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kRule));
    for (const std::string_view name :
         {"min_val", "max_val", "alpha", "scale", "input_scale", "negative_slope"}) {
      if (!arguments.Has(name)) continue;
      ABSL_ASSIGN_OR_RETURN(call.numbers[call.num_numbers++],
                            arguments.NumberFor(name, call.types.compute));
    }
    return call;
  }
};

// logit.
template <class Arguments>
struct LogitCall : PointwiseOperands<Arguments> {
  double eps = -1;  // below 0: none

  static absl::StatusOr<LogitCall> Read(const Arguments& arguments) {
    LogitCall call;
    ABSL_ASSIGN_OR_RETURN(const std::optional<double> eps, arguments.OptionalDouble("eps"));
    call.eps = eps.value_or(-1);
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kOrderedToFloatRule));
    return call;
  }
};

// gelu.
template <class Arguments>
struct GeluCall : PointwiseOperands<Arguments> {
  bool tanh = false;  // tanh approximation instead of erf

  static absl::StatusOr<GeluCall> Read(const Arguments& arguments) {
    GeluCall call;
    ABSL_ASSIGN_OR_RETURN(const auto approximate, arguments.String("approximate"));
    if (approximate != "none" && approximate != "tanh") {
      return arguments.ArgumentError(
          "approximate", absl::StrCat("expected none or tanh, got '", approximate, "'"));
    }
    call.tanh = approximate == "tanh";
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kFloatOnlyRule));
    return call;
  }
};

// glu: halves of self along dim.
template <class Arguments>
struct GluCall : PointwiseOperands<Arguments> {
  typename Arguments::TensorRef self;
  int dim = 0;  // counted from 0

  static absl::StatusOr<GluCall> Read(const Arguments& arguments) {
    GluCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self"));
    if (call.self->rank() == 0) {
      return arguments.ArgumentError("self", "expected a tensor with dimensions, got one without");
    }
    ABSL_ASSIGN_OR_RETURN(call.dim, ReadDim(arguments, call.self->rank()));
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kFloatOnlyRule));
    return call;
  }
  absl::Status CheckShapes() const {
    const typename Arguments::Dim size = Arguments::SizesOf(self)[dim];
    if (KnownInt(size).value_or(0) % 2 == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("self: expected an even size at dimension ", dim,
                                                   ", got ", DimToString(size)));
  }
};

// polygamma: operands n, a scalar >= 0, and self.
template <class Arguments>
struct PolygammaCall : PointwiseOperands<Arguments> {
  static absl::StatusOr<PolygammaCall> Read(const Arguments& arguments) {
    PolygammaCall call;
    ABSL_ASSIGN_OR_RETURN(const typename Arguments::Dim n, arguments.Int("n"));
    const std::optional<int64_t> known = KnownInt(n);
    if (known.value_or(0) < 0) {
      return arguments.ArgumentError("n", absl::StrCat("expected at least 0, got ", *known));
    }
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("n"));
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kOrderedToFloatRule));
    return call;
  }
};

// special.polynomial: operands self and other, the degrees, which may be floats. `family` is a
// PolynomialFamily.
template <class Arguments>
struct PolynomialCall : PointwiseOperands<Arguments> {
  PolynomialFamily family = PolynomialFamily::kChebyshevT;

  static absl::StatusOr<PolynomialCall> Read(const Arguments& arguments) {
    PolynomialCall call;
    ABSL_ASSIGN_OR_RETURN(const int64_t family, arguments.StaticInt("family"));
    if (family < 0 || family >= kPolynomialFamilies) {
      return arguments.ArgumentError(
          "family", absl::StrCat("expected 0 to ", kPolynomialFamilies - 1, ", got ", family));
    }
    call.family = static_cast<PolynomialFamily>(family);
    OperandReader<Arguments> reader(arguments, call);
    ABSL_RETURN_IF_ERROR(reader.Add("self"));
    ABSL_RETURN_IF_ERROR(reader.Add("other"));
    ABSL_RETURN_IF_ERROR(reader.Promote(kOrderedToFloatRule));
    return call;
  }
};

// frexp -> (mantissa, exponent), both of the input's shape.
template <class Arguments>
struct FrexpCall {
  typename Arguments::TensorRef self;

  static absl::StatusOr<FrexpCall> Read(const Arguments& arguments) {
    FrexpCall call;
    ABSL_ASSIGN_OR_RETURN(call.self, arguments.Tensor("self", kFloatTypes));
    return call;
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_POINTWISE_H_
