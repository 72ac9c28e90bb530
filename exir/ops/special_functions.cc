// Special functions and what else is pointwise but not core.
#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"

namespace belay::exir {
namespace {

constexpr Tolerance kSpecial = {1e-5, 1e-6};

constexpr OpDef Function(std::string_view schema, Domain domain) {
  return {schema,     &InferUnary<kOrderedToFloatRule>,
          kPointwise, "self:A ->:A A=float | self:int+bool+{u16} ->:{f32}",
          kSpecial,   domain};
}
constexpr OpDef OfTwo(std::string_view schema, MetaFn meta, Tolerance tolerance = kSpecial,
                      Domain domain = {}) {
  return {schema, meta, kPointwise, "", tolerance, domain};
}
constexpr PromotionRule kWideFloatRule = {DTypeSet{DType::kFloat32, DType::kFloat64}};
constexpr MetaFn kSameReal = &InferBinary<kOrderedRule>;
constexpr MetaFn kSameInteger = &InferBinary<kIntegerRule>;
constexpr MetaFn kSameFloat = &InferBinary<kFloatOnlyRule>;
constexpr MetaFn kToFloat = &InferBinary<kOrderedToFloatRule>;

constexpr OpDef kOps[] = {
    Function("aten::digamma(Tensor self) -> Tensor", {0.1, 10}),
    Function("aten::erfc(Tensor self) -> Tensor", {-3, 3}),
    Function("aten::erfinv(Tensor self) -> Tensor", {-0.99, 0.99}),
    OfTwo("aten::fmax(Tensor self, Tensor other) -> Tensor", kSameReal, kExact),
    OfTwo("aten::fmin(Tensor self, Tensor other) -> Tensor", kSameReal, kExact),
    OfTwo("aten::gcd(Tensor self, Tensor other) -> Tensor", kSameInteger, kExact),
    Function("aten::i0(Tensor self) -> Tensor", {-5, 5}),
    OfTwo("aten::igamma(Tensor self, Tensor other) -> Tensor", kSameFloat, kSpecial, {0.1, 10}),
    OfTwo("aten::igammac(Tensor self, Tensor other) -> Tensor", kSameFloat, kSpecial, {0.1, 10}),
    OfTwo("aten::lcm(Tensor self, Tensor other) -> Tensor", kSameInteger, kExact),
    Function("aten::lgamma(Tensor self) -> Tensor", {0.1, 10}),
    OfTwo("aten::nextafter(Tensor self, Tensor other) -> Tensor", &InferBinary<kWideFloatRule>,
          kExact),
    OfTwo("aten::polygamma(int n, Tensor self) -> Tensor", kToFloat, kSpecial, {0.5, 10}),
    Function("aten::special_bessel_j0(Tensor self) -> Tensor", {-10, 10}),
    Function("aten::special_bessel_j1(Tensor self) -> Tensor", {-10, 10}),
    Function("aten::special_bessel_y0(Tensor self) -> Tensor", {0.1, 10}),
    Function("aten::special_bessel_y1(Tensor self) -> Tensor", {0.1, 10}),
    Function("aten::special_erfcx(Tensor self) -> Tensor", {-3, 3}),
    Function("aten::special_i0e(Tensor self) -> Tensor", {-5, 5}),
    Function("aten::special_i1(Tensor self) -> Tensor", {-5, 5}),
    Function("aten::special_i1e(Tensor self) -> Tensor", {-5, 5}),
    Function("aten::special_modified_bessel_i0(Tensor self) -> Tensor", {-5, 5}),
    Function("aten::special_modified_bessel_i1(Tensor self) -> Tensor", {-5, 5}),
    Function("aten::special_ndtri(Tensor self) -> Tensor", {0.01, 0.99}),
    OfTwo("aten::special_zeta(Tensor self, Tensor other) -> Tensor", kToFloat, kSpecial, {1.1, 10}),
    OfTwo("aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", kToFloat,
          kSpecial, {1.1, 10}),
    OfTwo("aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", kToFloat, kSpecial,
          {1.1, 10}),
};

}  // namespace

absl::Span<const OpDef> SpecialFunctionsOps() { return kOps; }

}  // namespace belay::exir
