// Softmax and log-softmax.

#include "runtime/kernel_interface/shape_rules/softmax.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"

namespace belay::exir {
namespace {

absl::Status SoftmaxMeta(MetaContext& context, const SoftmaxCall<MetaArguments>& call) {
  context.SetTensor(0, call.self->dtype, call.self->sizes);
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = &MetaKernel<&SoftmaxMeta>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = {2e-6, 1e-7}},
    {.schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .meta = &MetaKernel<&SoftmaxMeta>,
     .traits = kCore,
     .dtypes = "self:A ->:A A=float",
     .tolerance = {2e-6, 1e-6}},
};

}  // namespace

absl::Span<const OpDef> SoftmaxOps() { return kRows; }

}  // namespace belay::exir
