// Activation functions with parameters, and the clamps.
#include <optional>
#include <string>
#include <utility>

#include "exir/ops/families.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel/shape_rules/dims.h"

namespace belay::exir {
namespace {

constexpr uint32_t kTraits = kCore | kPointwise;
constexpr std::string_view kSameFloat = "self:A ->:A A=float";

absl::Status NoBounds(const MetaContext& context) {
  return MetaError(context, "at least one of 'min' and 'max' must be given");
}

// (self, min?, max?), the bounds numbers that take part in promotion, but for a self of floating
// point type.
absl::Status InferClamp(MetaContext& context) {
  if (context.is_none(1) && context.is_none(2)) return NoBounds(context);
  PointwiseMeta meta(context);
  ABSL_RETURN_IF_ERROR(meta.Add(0));
  const TensorMeta* self = context.argument(0).get_if<TensorMeta>();
  for (int i = 1; i <= 2; ++i) {
    if (context.is_none(i)) continue;
    if (self != nullptr && IsFloatingPoint(self->dtype)) {
      ABSL_RETURN_IF_ERROR(CheckRealNumber(context, i));
    } else {
      ABSL_RETURN_IF_ERROR(meta.PromoteWith(i));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kOrderedRule));
  return meta.Finish(types.result);
}

// (self, min?, max?), the bounds tensors.
absl::Status InferClampTensor(MetaContext& context) {
  if (context.is_none(1) && context.is_none(2)) return NoBounds(context);
  PointwiseMeta meta(context);
  for (int i = 0; i <= 2; ++i) {
    if (i == 0 || !context.is_none(i)) ABSL_RETURN_IF_ERROR(meta.Add(i));
  }
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kOrderedRule));
  return meta.Finish(types.result);
}

// (self, numbers…): the numbers, of any real type, have no part in promotion.
absl::Status InferWithNumbers(MetaContext& context, const PromotionRule& rule) {
  for (int i = 1; i < context.num_arguments(); ++i) {
    if (!context.is_none(i)) ABSL_RETURN_IF_ERROR(CheckRealNumber(context, i));
  }
  return InferPointwise(context, 1, rule);
}

absl::Status InferFloatWithNumbers(MetaContext& context) {
  return InferWithNumbers(context, kFloatOnlyRule);
}
absl::Status InferHardtanh(MetaContext& context) { return InferWithNumbers(context, kNumericRule); }
absl::Status InferLogit(MetaContext& context) {
  return InferWithNumbers(context, kOrderedToFloatRule);
}

// (self, *, approximate)
absl::Status InferGelu(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const std::string approximate, context.String(1));
  if (approximate != "none" && approximate != "tanh") {
    return ArgumentError(context, 1,
                         absl::StrCat("expected none or tanh, got '", approximate, "'"));
  }
  return InferPointwise(context, 1, kFloatOnlyRule);
}

// (self, dim): two halves of self along dim.
absl::Status InferGlu(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, context.Tensor(0));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim_argument, context.StaticInt(1));
  if (self->rank() == 0)
    return ArgumentError(context, 0, "expected a tensor with dimensions, got one without");
  ABSL_ASSIGN_OR_RETURN(const int dim, NormalizeDim(dim_argument, self->rank()));
  if (self->sizes[dim].AsInt().value_or(0) % 2 != 0) {
    return ArgumentError(context, 0,
                         absl::StrCat("expected an even size at dimension ", dim, ", got ",
                                      self->sizes[dim].ToString()));
  }
  TensorMeta half = *self;
  half.sizes[dim] = FloorDiv(self->sizes[dim], 2);
  PointwiseMeta meta(context);
  meta.AddTensor(half);
  meta.AddTensor(half);
  ABSL_ASSIGN_OR_RETURN(const PromotedTypes types, meta.Promote(kFloatOnlyRule));
  return meta.Finish(types.result);
}

constexpr OpDef kOps[] = {
    {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", &InferClamp, kTraits,
     "", kExact},
    {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     &InferClampTensor, kTraits, "", kExact},
    {"aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
     &InferFloatWithNumbers, kTraits, kSameFloat, kTranscendental},
    {"aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", &InferGelu, kTraits,
     kSameFloat, kTranscendental},
    {"aten::glu(Tensor self, int dim=-1) -> Tensor", &InferGlu, 0, kSameFloat, kTranscendental},
    {"aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", &InferHardtanh,
     kTraits, "self:A ->:A A=int+float", kExact},
    {"aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", &InferFloatWithNumbers,
     kTraits, kSameFloat, kRounded},
    {"aten::logit(Tensor self, float? eps=None) -> Tensor",
     &InferLogit,
     kPointwise,
     "self:A ->:A A=float | self:int+bool+{u16} ->:{f32}",
     kTranscendental,
     {0.01, 0.99}},
};

}  // namespace

absl::Span<const OpDef> ActivationOps() { return kOps; }

}  // namespace belay::exir
