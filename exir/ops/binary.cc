// Binary operators of tensors, or of a tensor and a scalar, and the selections where and
// masked_fill.
#include <string_view>
#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr uint32_t kTraits = kCore | kPointwise;

// Operators whose operands a pass casts to one dtype; the others accept what PyTorch promotes.
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

// Neither operand may be bool.
absl::Status InferSub(MetaContext& context) {
  const MetaArguments arguments(context);
  for (const std::string_view name : {"self", "other"}) {
    ABSL_ASSIGN_OR_RETURN(const MetaArguments::OperandRef operand, arguments.Operand(name));
    if (operand.dtype == DType::kBool)
      return arguments.ArgumentError(name, "bool can't be subtracted: use logical_xor");
  }
  return InferPointwise<ScaledCall<MetaArguments, kNoBoolRule>>(context);
}

// Scalar base, tensor exponent. The result is contiguous.
absl::Status InferPowScalar(MetaContext& context,
                            const PlainCall<MetaArguments, 2, kNoBoolRule>& call) {
  ABSL_RETURN_IF_ERROR(MetaArguments(context).Number("self").status());
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, PointwiseShape(context, call));
  context.SetTensor(0, call.types.result, std::move(shape));
  return absl::OkStatus();
}

absl::Status InferAtan2Out(MetaContext& context, const Atan2OutCall<MetaArguments>& call) {
  const TensorMeta& out = *call.out;
  ABSL_RETURN_IF_ERROR(CheckWritable(context, call.target.position, out));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, PointwiseShape(context, call));
  if (shape == out.sizes) {
    context.SetOutput(0, out);
  } else if (out.NumElements().AsInt() == 0) {  // PyTorch resizes an empty result
    context.SetTensor(0, out.dtype, std::move(shape));
  } else {
    return MetaArguments(context).ArgumentError(
        "out", absl::StrCat("expected sizes ", FormatDims<SymInt>(shape), ", got ",
                            FormatDims<SymInt>(out.sizes)));
  }
  return absl::OkStatus();
}

// The result is contiguous.
absl::Status InferMaskedFill(MetaContext& context, const MaskedFillCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, PointwiseShape(context, call));
  context.SetTensor(0, call.types.result, std::move(shape));
  return absl::OkStatus();
}

constexpr MetaFn kToBool = &InferBinary<kAnyToBoolRule>;
constexpr MetaFn kOrderedToBool = &InferBinary<kOrderedToBoolRule>;
constexpr MetaFn kModulo = &InferBinary<kNumericRule>;

constexpr OpDef kOps[] = {
    {"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     &InferPointwise<ScaledCall<MetaArguments, kAnyRule>>, kTraits, "", kRounded},
    {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     &InferPointwise<ScaledCall<MetaArguments, kAnyRule>>, kTraits | kAlwaysDecomposed, kSame,
     kRounded},
    {"aten::atan2(Tensor self, Tensor other) -> Tensor", &InferBinary<kOrderedToFloatRule>, kTraits,
     "", kTranscendental},
    {"aten::atan2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
     &MetaKernel<&InferAtan2Out>, kTraits, "", kTranscendental},
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
     &InferPointwise<DivModeCall<MetaArguments>>, kTraits, "", kRounded},
    {"aten::div.Tensor(Tensor self, Tensor other) -> Tensor",
     &InferBinary<kToFloatRule>,
     kTraits | kAlwaysDecomposed,
     kSameFloat,
     kRounded,
     {0.1, 10}},
    {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     &InferPointwise<DivModeCall<MetaArguments>>,
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
    {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
     &MetaKernel<&InferMaskedFill>, kPointwise, "self:A mask:bool ->:A A=any", kExact},
    {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
     &MetaKernel<&InferMaskedFill>, kPointwise, "self:A mask:bool value:any ->:A A=any", kExact},
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
     &MetaKernel<&InferPowScalar>,
     kTraits,
     "",
     kTranscendental,
     {-3, 3}},
    {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     &InferPointwise<PowerCall<MetaArguments>>,
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
    {"aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
     &InferPointwise<WhereCall<MetaArguments>>, kTraits, "", kExact},
    // The shifts by the names of Python's operators.
    Shift("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Shift("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor"),
    Shift("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Shift("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor"),
};

}  // namespace

absl::Span<const OpDef> BinaryOps() { return kOps; }

}  // namespace belay::exir
