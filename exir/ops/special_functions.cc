// Special functions and other pointwise operators that are not core.
#include <utility>

#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"

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
constexpr MetaFn kSameReal = &InferBinary<kOrderedRule>;
constexpr MetaFn kSameInteger = &InferBinary<kIntegerRule>;
constexpr MetaFn kSameFloat = &InferBinary<kFloatOnlyRule>;
constexpr MetaFn kToFloat = &InferBinary<kOrderedToFloatRule>;

absl::Status FrexpMeta(MetaContext& context, const FrexpCall<MetaArguments>& call) {
  const TensorMeta* const self = call.self;
  ABSL_ASSIGN_OR_RETURN(const TensorMeta like,
                        ResultLike(self->dtype, *self, MemoryFormat::kPreserve));
  for (const auto& [k, dtype] : {std::pair(0, self->dtype), std::pair(1, DType::kInt32)}) {
    TensorMeta out = like;
    out.dtype = dtype;
    out.device = self->device;
    context.SetOutput(k, std::move(out));
  }
  return absl::OkStatus();
}

constexpr OpDef kOps[] = {
    Function("aten::digamma(Tensor self) -> Tensor", {0.1, 10}),
    Function("aten::erfc(Tensor self) -> Tensor", {-3, 3}),
    Function("aten::erfinv(Tensor self) -> Tensor", {-0.99, 0.99}),
    OfTwo("aten::fmax(Tensor self, Tensor other) -> Tensor", kSameReal, kExact),
    OfTwo("aten::fmin(Tensor self, Tensor other) -> Tensor", kSameReal, kExact),
    {"aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
     &MetaKernel<&FrexpMeta>, 0, "self:A ->mantissa:A ->exponent:{i32} A=float", kExact},
    OfTwo("aten::gcd(Tensor self, Tensor other) -> Tensor", kSameInteger, kExact),
    Function("aten::i0(Tensor self) -> Tensor", {-5, 5}),
    OfTwo("aten::igamma(Tensor self, Tensor other) -> Tensor", kSameFloat, kSpecial, {0.1, 10}),
    OfTwo("aten::igammac(Tensor self, Tensor other) -> Tensor", kSameFloat, kSpecial, {0.1, 10}),
    OfTwo("aten::lcm(Tensor self, Tensor other) -> Tensor", kSameInteger, kExact),
    Function("aten::lgamma(Tensor self) -> Tensor", {0.1, 10}),
    OfTwo("aten::nextafter(Tensor self, Tensor other) -> Tensor", kSameFloat, kExact),
    OfTwo("aten::polygamma(int n, Tensor self) -> Tensor",
          &InferPointwise<PolygammaCall<MetaArguments>>, kSpecial, {0.5, 10}),
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
    Function("aten::special_modified_bessel_k0(Tensor self) -> Tensor", {0.1, 10}),
    Function("aten::special_modified_bessel_k1(Tensor self) -> Tensor", {0.1, 10}),
    Function("aten::special_ndtri(Tensor self) -> Tensor", {0.01, 0.99}),
    OfTwo("aten::special_zeta(Tensor self, Tensor other) -> Tensor", kToFloat, kSpecial, {1.1, 10}),
    OfTwo("aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", kToFloat,
          kSpecial, {1.1, 10}),
    OfTwo("aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", kToFloat, kSpecial,
          {1.1, 10}),
    // PyTorch names the argument x (exir/decompositions/special_functions.cc).
    Function("special::airy_ai(Tensor self) -> Tensor", {-10, 10}),
    // Polynomials of PolynomialFamily whose degrees are the second tensor.
    {.schema = "special::polynomial(Tensor self, Tensor other, int family) -> Tensor",
     .meta = &InferPointwise<PolynomialCall<MetaArguments>>,
     .traits = kPointwise,
     .tolerance = kSpecial,
     .domain = {0, 4}},
    Function("special::scaled_modified_bessel_k0(Tensor self) -> Tensor", {0.1, 10}),
    Function("special::scaled_modified_bessel_k1(Tensor self) -> Tensor", {0.1, 10}),
    Function("special::spherical_bessel_j0(Tensor self) -> Tensor", {-10, 10}),
};

}  // namespace

absl::Span<const OpDef> SpecialFunctionsOps() { return kOps; }

}  // namespace belay::exir
