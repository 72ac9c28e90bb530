// Softmax and its logarithm.

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/dims.h"

namespace belay::exir {
namespace {

absl::Status SoftmaxMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  ABSL_RETURN_IF_ERROR(NormalizeDim(dim, self->rank()).status());
  ABSL_ASSIGN_OR_RETURN(const bool half_to_float, context.Bool(2));
  if (half_to_float) {
    return absl::InvalidArgumentError("half_to_float: expected false, as on every CPU");
  }
  context.SetTensor(0, self->dtype, self->sizes);
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = &SoftmaxMeta,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = {2e-6, 1e-7}},
    {.schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = &SoftmaxMeta,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = {2e-6, 1e-6}},
};

}  // namespace

absl::Span<const OpDef> SoftmaxOps() { return kRows; }

}  // namespace belay::exir
