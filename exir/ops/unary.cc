// Unary operators without parameters.
#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"

namespace belay::exir {
namespace {

constexpr std::string_view kSame = "self:A ->:A A=any";
constexpr std::string_view kToFloat = "self:A ->:A A=float+complex | self:int+bool+{u16} ->:{f32}";
constexpr std::string_view kRealToFloat = "self:A ->:A A=float | self:int+bool+{u16} ->:{f32}";
constexpr std::string_view kNumeric = "self:A ->:A A=int+float+{u16}";
constexpr std::string_view kToBool = "self:any ->:bool";

constexpr uint32_t kTraits = kCore | kPointwise;

// Accepts all dtypes, integers as float32.
constexpr OpDef Function(std::string_view schema, Domain domain = {}) {
  return {schema, &InferUnary<kToFloatRule>, kTraits, kToFloat, kTranscendental, domain};
}
// Accepts real numbers; the result has the same dtype.
constexpr OpDef Rounding(std::string_view schema) {
  return {schema, &InferUnary<kNumericRule>, kTraits, kNumeric, kExact};
}
// Accepts all dtypes; the result is bool.
constexpr OpDef Test(std::string_view schema) {
  return {schema, &InferUnary<kAnyToBoolRule>, kTraits, kToBool, kExact};
}

absl::Status InferAngle(MetaContext& context,
                        const PlainCall<MetaArguments, 1, kToFloatRule>& call) {
  return SetPointwise(context, call, RealPart(call.types.result));
}

constexpr OpDef kOps[] = {
    {"aten::_conj_physical(Tensor self) -> Tensor", &InferUnary<kAnyRule>, kPointwise, kSame,
     kExact},
    {"aten::abs(Tensor self) -> Tensor", &InferUnary<kMagnitudeRule>, kTraits,
     "self:A ->:A A=int+float+{u16} | self:{c64} ->:{f32} | self:{c128} ->:{f64}", kRounded},
    Function("aten::acos(Tensor self) -> Tensor", {-1, 1}),
    Function("aten::acosh(Tensor self) -> Tensor", {1, 10}),
    {"aten::angle(Tensor self) -> Tensor", &MetaKernel<&InferAngle>, kPointwise,
     "self:A ->:A A=float | self:int+bool+{u16} ->:{f32} | self:{c64} ->:{f32} | self:{c128} "
     "->:{f64}",
     kTranscendental},
    Function("aten::asin(Tensor self) -> Tensor", {-1, 1}),
    Function("aten::asinh(Tensor self) -> Tensor"),
    Function("aten::atan(Tensor self) -> Tensor"),
    Function("aten::atanh(Tensor self) -> Tensor", {-0.99, 0.99}),
    {"aten::bitwise_not(Tensor self) -> Tensor", &InferUnary<kIntegerOrBoolRule>, kTraits,
     "self:A ->:A A=int+bool+{u16}", kExact},
    Rounding("aten::ceil(Tensor self) -> Tensor"),
    Function("aten::cos(Tensor self) -> Tensor"),
    Function("aten::cosh(Tensor self) -> Tensor", {-5, 5}),
    {"aten::erf(Tensor self) -> Tensor",
     &InferUnary<kOrderedToFloatRule>,
     kTraits,
     kRealToFloat,
     kTranscendental,
     {-3, 3}},
    Function("aten::exp(Tensor self) -> Tensor", {-5, 5}),
    Function("aten::expm1(Tensor self) -> Tensor", {-5, 5}),
    Rounding("aten::floor(Tensor self) -> Tensor"),
    Test("aten::isinf(Tensor self) -> Tensor"),
    Test("aten::isnan(Tensor self) -> Tensor"),
    Function("aten::log(Tensor self) -> Tensor", {1e-3, 10}),
    Function("aten::log10(Tensor self) -> Tensor", {1e-3, 10}),
    Function("aten::log1p(Tensor self) -> Tensor", {-0.9, 10}),
    Function("aten::log2(Tensor self) -> Tensor", {1e-3, 10}),
    Test("aten::logical_not(Tensor self) -> Tensor"),
    {"aten::neg(Tensor self) -> Tensor", &InferUnary<kNoBoolRule>, kTraits,
     "self:A ->:A A=int+float+complex+{u16}", kExact},
    {"aten::reciprocal(Tensor self) -> Tensor",
     &InferUnary<kToFloatRule>,
     kTraits,
     kToFloat,
     kRounded,
     {0.1, 10}},
    Rounding("aten::relu(Tensor self) -> Tensor"),
    Rounding("aten::round(Tensor self) -> Tensor"),
    Function("aten::rsqrt(Tensor self) -> Tensor", {1e-3, 10}),
    Function("aten::sigmoid(Tensor self) -> Tensor"),
    {"aten::sign(Tensor self) -> Tensor", &InferUnary<kOrderedRule>, kTraits,
     "self:A ->:A A=real+{u16}", kExact},
    Function("aten::sin(Tensor self) -> Tensor"),
    Function("aten::sinh(Tensor self) -> Tensor", {-5, 5}),
    {"aten::sqrt(Tensor self) -> Tensor",
     &InferUnary<kToFloatRule>,
     kTraits,
     kToFloat,
     kRounded,
     {0, 10}},
    Function("aten::tan(Tensor self) -> Tensor", {-1.4, 1.4}),
    Function("aten::tanh(Tensor self) -> Tensor"),
    Rounding("aten::trunc(Tensor self) -> Tensor"),
};

}  // namespace

absl::Span<const OpDef> UnaryOps() { return kOps; }

}  // namespace belay::exir
