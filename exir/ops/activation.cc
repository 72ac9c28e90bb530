// Activation functions with parameters, and the clamps.
#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/str_cat.h"

namespace belay::exir {
namespace {

constexpr uint32_t kTraits = kCore | kPointwise;
constexpr std::string_view kSameFloat = "self:A ->:A A=float";

absl::Status InferGlu(MetaContext& context, const GluCall<MetaArguments>& call) {
  const absl::Status fits = call.CheckShapes();
  if (!fits.ok()) return MetaError(context, FromAbsl(fits.message()));
  TensorMeta half = *call.self;
  half.sizes[call.dim] = FloorDiv(call.self->sizes[call.dim], 2);
  PointwiseOperands<MetaArguments> halves;
  for (int k = 0; k < 2; ++k) halves.Append({nullptr, &half, half.dtype});
  return SetPointwise(context, halves, call.types.result);
}

constexpr OpDef kOps[] = {
    {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
     &InferPointwise<ClampCall<MetaArguments>>, kTraits, "", kExact},
    {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     &InferPointwise<ClampTensorCall<MetaArguments>>, kTraits, "", kExact},
    {"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     &InferPointwise<WithNumbersCall<MetaArguments, kFloatOnlyRule>>, kTraits, kSameFloat,
     kTranscendental},
    {"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
     &InferPointwise<GeluCall<MetaArguments>>, kTraits, kSameFloat, kTranscendental},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", &MetaKernel<&InferGlu>, 0, kSameFloat,
     kTranscendental},
    {"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
     &InferPointwise<WithNumbersCall<MetaArguments, kNumericRule>>, kTraits,
     "self:A ->:A A=int+float", kExact},
    {"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
     &InferPointwise<WithNumbersCall<MetaArguments, kFloatOnlyRule>>, kTraits, kSameFloat,
     kRounded},
    {"aten::logit(Tensor self, float? eps=None) -> Tensor",
     &InferPointwise<LogitCall<MetaArguments>>,
     kPointwise,
     "self:A ->:A A=float | self:int+bool+{u16} ->:{f32}",
     kTranscendental,
     {0.01, 0.99}},
};

}  // namespace

absl::Span<const OpDef> ActivationOps() { return kOps; }

}  // namespace belay::exir
