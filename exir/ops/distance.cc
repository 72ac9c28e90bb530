// Distances between the rows of matrices.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/matmul.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kDistanceTypes = {DType::kFloat32, DType::kFloat64};

absl::Status CheckOrder(const MetaContext& context, int i) {
  ABSL_ASSIGN_OR_RETURN(const double p, context.Double(i));
  if (p >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("p: expected at least 0, got ", p));
}

absl::Status CdistMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* x1, TensorOf(context, 0, kDistanceTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* x2, TensorOf(context, 1, x1->dtype));
  ABSL_RETURN_IF_ERROR(CheckOrder(context, 2));
  if (!context.is_none(3)) {
    ABSL_ASSIGN_OR_RETURN(const int64_t mode, context.StaticInt(3));
    if (mode < 0 || mode > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("compute_mode: expected 0, 1 or 2, got ", mode));
    }
  }
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, CdistShape<SymInt>(x1->sizes, x2->sizes));
  context.SetTensor(0, x1->dtype, std::move(shape));
  return absl::OkStatus();
}

absl::Status PdistMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kDistanceTypes));
  ABSL_RETURN_IF_ERROR(CheckOrder(context, 1));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, PdistShape<SymInt>(self->sizes));
  context.SetTensor(0, self->dtype, std::move(shape));
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
     .meta = &CdistMeta,
     .traits = kCore,
     .dtypes = "x1:A x2:A ->:A A={f32,f64}",
     .tolerance = {1e-5, 1e-5}},
    {.schema = "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor",
     .meta = &PdistMeta,
     .traits = kCore,
     .dtypes = "self:A ->:A A={f32,f64}",
     .tolerance = {1e-5, 1e-5}},
};

}  // namespace

absl::Span<const OpDef> DistanceOps() { return kRows; }

}  // namespace belay::exir
