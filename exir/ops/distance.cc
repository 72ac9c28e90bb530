// Distances between the rows of matrices.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/matmul.h"

namespace belay::exir {
namespace {

absl::Status CdistMeta(MetaContext& context, const CdistCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.x1->dtype, std::move(shape));
  return absl::OkStatus();
}

absl::Status PdistMeta(MetaContext& context, const PdistCall<MetaArguments>& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.self->dtype, std::move(shape));
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
     .meta = &MetaKernel<&CdistMeta>,
     .traits = kCore,
     .dtypes = "x1:A x2:A ->:A A={f32,f64}",
     .tolerance = {1e-5, 1e-5}},
    {.schema = "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
     .meta = &MetaKernel<&PdistMeta>,
     .traits = kCore,
     .dtypes = "self:A ->:A A={f32,f64}",
     .tolerance = {1e-5, 1e-5}},
};

}  // namespace

absl::Span<const OpDef> DistanceOps() { return kRows; }

}  // namespace belay::exir
