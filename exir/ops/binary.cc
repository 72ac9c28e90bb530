// Operators of two tensors, or a tensor and a number, and the selections where and masked_fill.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/dims.h"

namespace belay::exir {
namespace {

constexpr uint32_t kTraits = kCore | kPointwise;

// Those whose operands a pass brings to one dtype; the others take what PyTorch promotes.
constexpr std::string_view kSame = "self:A other:A ->:A A=any";
constexpr std::string_view kSameFloat = "self:A other:A ->:A A=float+complex";
constexpr std::string_view kSameReal = "self:A other:A ->:A A=real";

constexpr OpDef Compare(std::string_view schema, MetaFn meta) {
  return {schema, meta, kTraits, "", kExact};
}
constexpr OpDef Bitwise(std::string_view schema) {
  return {schema, &InferBinary<kIntegerOrBoolRule>, kTraits, "", kExact};
}
constexpr OpDef Shift(std::string_view schema) {
  return {schema, &InferBinary<kIntegerRule>, kPointwise, "", kExact};
}

// Argument `i`, the factor of the second operand, must be of a type that the result's dtype can
// take.
absl::Status CheckAlpha(const MetaContext& context, int i, DType compute) {
  ABSL_ASSIGN_OR_RETURN(const DType category, context.ScalarCategory(i));
  if (category == DType::kBool && compute != DType::kBool) {
    return ArgumentError(context, i,
                         absl::StrCat("a bool scales bool only, not ", DTypeName(compute)));
  }
  if (IsFloatingPoint(category) && IsIntegral(compute, /*include_bool=*/true)) {
    return ArgumentError(context, i, absl::StrCat("a float does not scale ", DTypeName(compute)));
  }
  if (IsComplex(category) && !IsComplex(compute)) {
    return ArgumentError(context, i,
                         absl::StrCat("a complex number does not scale ", DTypeName(compute)));
  }
  return absl::OkStatus();
}

// (self, other, alpha)
absl::Status InferAdd(MetaContext& context) {
  PointwiseMeta meta(context);
  ABSL_RETURN_IF_ERROR(meta.Add(0));
  ABSL_RETURN_IF_ERROR(meta.Add(1));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kAnyRule));
  ABSL_RETURN_IF_ERROR(CheckAlpha(context, 2, types.compute));
  return meta.Finish(types.result);
}

// The same; neither operand may be bool.
absl::Status InferSub(MetaContext& context) {
  PointwiseMeta meta(context);
  for (int i = 0; i < 2; ++i) {
    ABSL_RETURN_IF_ERROR(meta.Add(i));
    const TensorMeta* tensor = context.argument(i).get_if<TensorMeta>();
    DType dtype = tensor != nullptr ? tensor->dtype : DType::kFloat32;
    if (tensor == nullptr) {
      ABSL_ASSIGN_OR_RETURN(dtype, context.ScalarCategory(i));
    }
    if (dtype == DType::kBool)
      return ArgumentError(context, i, "bool can't be subtracted: use logical_xor");
  }
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kNoBoolRule));
  ABSL_RETURN_IF_ERROR(CheckAlpha(context, 2, types.compute));
  return meta.Finish(types.result);
}

// (self, other, *, rounding_mode): true division without a mode.
absl::Status InferDivMode(MetaContext& context) {
  if (context.is_none(2)) return InferPointwise(context, 2, kToFloatRule);
  ABSL_ASSIGN_OR_RETURN(const std::string mode, context.String(2));
  if (mode != "trunc" && mode != "floor") {
    return ArgumentError(context, 2,
                         absl::StrCat("expected trunc, floor or none, got '", mode, "'"));
  }
  return InferPointwise(context, 2, kNumericRule);
}

// (self, exponent) with a number as exponent.
absl::Status InferPowTensorScalar(MetaContext& context) {
  PointwiseMeta meta(context);
  ABSL_RETURN_IF_ERROR(meta.Add(0));
  ABSL_RETURN_IF_ERROR(meta.PromoteWith(1));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kNoBoolRule));
  if (IsIntegral(types.compute, /*include_bool=*/true)) {
    ABSL_ASSIGN_OR_RETURN(const SymInt exponent, context.Int(1));
    if (exponent.AsInt().value_or(0) < 0) {
      return ArgumentError(
          context, 1,
          absl::StrCat("an integer to the power of ", *exponent.AsInt(), " is no integer"));
    }
  }
  return meta.Finish(types.result);
}

// (self, exponent) with a number as base. The result is contiguous.
absl::Status InferPowScalar(MetaContext& context) {
  PointwiseMeta meta(context);
  ABSL_RETURN_IF_ERROR(meta.PromoteWith(0));
  ABSL_RETURN_IF_ERROR(meta.Add(1));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kNoBoolRule));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, meta.Shape());
  context.SetTensor(0, types.result, std::move(shape));
  return absl::OkStatus();
}

// (self, other, *, out!)
absl::Status InferAtan2Out(MetaContext& context) {
  PointwiseMeta meta(context);
  ABSL_RETURN_IF_ERROR(meta.Add(0));
  ABSL_RETURN_IF_ERROR(meta.Add(1));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kOrderedToFloatRule));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* out, context.Tensor(2));
  if (!IsFloatingPoint(out->dtype) && !IsComplex(out->dtype)) {
    return ArgumentError(context, 2,
                         absl::StrCat("a result of dtype ", DTypeName(types.result),
                                      " can't be written to ", DTypeName(out->dtype)));
  }
  ABSL_RETURN_IF_ERROR(CheckWritable(context, 2, *out));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, meta.Shape());
  if (shape == out->sizes) {
    context.SetOutput(0, *out);
  } else if (out->NumElements().AsInt() == 0) {  // PyTorch resizes an empty one
    context.SetTensor(0, out->dtype, std::move(shape));
  } else {
    return ArgumentError(context, 2,
                         absl::StrCat("expected sizes ", FormatDims<SymInt>(shape), ", got ",
                                      FormatDims<SymInt>(out->sizes)));
  }
  return absl::OkStatus();
}

// (condition, self, other)
absl::Status InferWhere(MetaContext& context) {
  PointwiseMeta meta(context);
  ABSL_RETURN_IF_ERROR(meta.AddMask(0, {DType::kBool, DType::kUint8}));
  ABSL_RETURN_IF_ERROR(meta.Add(1));
  ABSL_RETURN_IF_ERROR(meta.Add(2));
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kAnyRule));
  return meta.Finish(types.result);
}

// (self, mask, value), the value a number or a tensor without dimensions. The result is contiguous.
absl::Status InferMaskedFill(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  PointwiseMeta meta(context);
  ABSL_RETURN_IF_ERROR(meta.Add(0));
  ABSL_RETURN_IF_ERROR(meta.AddMask(1, {DType::kBool}));
  if (const TensorMeta* value = context.argument(2).get_if<TensorMeta>()) {
    if (value->rank() != 0) {
      return ArgumentError(
          context, 2,
          absl::StrCat("expected a tensor without dimensions, got ", value->rank(), " dimensions"));
    }
  } else {
    ABSL_RETURN_IF_ERROR(context.ScalarCategory(2).status());
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, meta.Shape());
  context.SetTensor(0, self->dtype, std::move(shape));
  return absl::OkStatus();
}

constexpr MetaFn kToBool = &InferBinary<kAnyToBoolRule>;
constexpr MetaFn kOrderedToBool = &InferBinary<kOrderedToBoolRule>;
constexpr MetaFn kModulo = &InferBinary<kNumericRule>;

constexpr OpDef kOps[] = {
    {"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", &InferAdd, kTraits,
     "", kRounded},
    {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", &InferAdd,
     kTraits | kAlwaysDecomposed, kSame, kRounded},
    {"aten::atan2(Tensor self, Tensor other) -> Tensor", &InferBinary<kOrderedToFloatRule>, kTraits,
     "", kTranscendental},
    {"aten::atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", &InferAtan2Out,
     kTraits, "", kTranscendental},
    Bitwise("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor"),
    Bitwise("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor"),
    Shift("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor"),
    Shift("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"),
    Bitwise("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor"),
    Bitwise("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor"),
    Shift("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor"),
    Shift("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"),
    Bitwise("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor"),
    Bitwise("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor"),
    {"aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor",
     &InferBinary<kOrderedToFloatRule>, kPointwise, "", kExact},
    {"aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor",
     &InferBinary<kOrderedToFloatRule>, kPointwise, "", kExact},
    {"aten::div.Scalar(Tensor self, Scalar other) -> Tensor", &InferBinary<kToFloatRule>, kTraits,
     "", kRounded},
    {"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
     &InferDivMode, kTraits, "", kRounded},
    {"aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
     &InferBinary<kToFloatRule>,
     kTraits | kAlwaysDecomposed,
     kSameFloat,
     kRounded,
     {0.1, 10}},
    {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     &InferDivMode,
     kTraits,
     kSameReal,
     kRounded,
     {0.1, 10}},
    Compare("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", kToBool),
    Compare("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", kToBool),
    {"aten::floor_divide(Tensor self, Tensor other) -> Tensor",
     kModulo,
     kPointwise,
     "",
     kExact,
     {0.1, 10}},
    {"aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", kModulo, kTraits, "", kExact},
    {"aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor",
     kModulo,
     kTraits,
     "",
     kExact,
     {0.1, 10}},
    Compare("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", kOrderedToBool),
    Compare("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", kOrderedToBool),
    Compare("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", kOrderedToBool),
    Compare("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", kOrderedToBool),
    {"aten::hypot(Tensor self, Tensor other) -> Tensor", &InferBinary<kFloatOnlyRule>, kPointwise,
     "", kTranscendental},
    Compare("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", kOrderedToBool),
    Compare("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", kOrderedToBool),
    Compare("aten::logical_and(Tensor self, Tensor other) -> Tensor", kToBool),
    Compare("aten::logical_or(Tensor self, Tensor other) -> Tensor", kToBool),
    Compare("aten::logical_xor(Tensor self, Tensor other) -> Tensor", kToBool),
    Compare("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", kOrderedToBool),
    Compare("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", kOrderedToBool),
    {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", &InferMaskedFill,
     kPointwise, "self:A mask:bool ->:A A=any", kExact},
    {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", &InferMaskedFill,
     kPointwise, "self:A mask:bool value:any ->:A A=any", kExact},
    {"aten::maximum(Tensor self, Tensor other) -> Tensor", &InferBinary<kOrderedRule>, kTraits, "",
     kExact},
    {"aten::minimum(Tensor self, Tensor other) -> Tensor", &InferBinary<kOrderedRule>, kTraits,
     kSameReal, kExact},
    {"aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", &InferBinary<kAnyRule>, kTraits, "",
     kRounded},
    {"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", &InferBinary<kAnyRule>,
     kTraits | kAlwaysDecomposed, kSame, kRounded},
    Compare("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", kToBool),
    Compare("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", kToBool),
    {"aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
     &InferPowScalar,
     kTraits,
     "",
     kTranscendental,
     {-3, 3}},
    {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     &InferPowTensorScalar,
     kTraits,
     "",
     kTranscendental,
     {0.1, 3}},
    {"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     &InferBinary<kNoBoolRule>,
     kTraits,
     "",
     kTranscendental,
     {0.1, 3}},
    {"aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", kModulo, kTraits, "", kRounded},
    {"aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor",
     kModulo,
     kTraits,
     "",
     kRounded,
     {0.1, 10}},
    {"aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", &InferSub,
     kPointwise, "", kRounded},
    {"aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", &InferSub, kTraits,
     "", kRounded},
    {"aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", &InferSub,
     kTraits | kAlwaysDecomposed, kSame, kRounded},
    {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", &InferWhere,
     kTraits, "", kExact},
    // The shifts under the names of Python's operators.
    Shift("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Shift("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor"),
    Shift("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Shift("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor"),
};

}  // namespace

absl::Span<const OpDef> BinaryOps() { return kOps; }

}  // namespace belay::exir
