// Running sums, products and extremes along one dimension.

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/dims.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kSummable = kRealTypes | kComplexTypes | kUnsignedWideTypes;

absl::Status CumulativeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kSummable));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  ABSL_RETURN_IF_ERROR(NormalizeDim(dim, self->rank()).status());
  const DType natural = IsIntegral(self->dtype, true) ? DType::kInt64 : self->dtype;
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(2, natural));
  context.SetTensor(0, dtype, self->sizes);
  return absl::OkStatus();
}

absl::Status RunningExtremeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  ABSL_RETURN_IF_ERROR(NormalizeDim(dim, self->rank()).status());
  context.SetTensor(0, self->dtype, self->sizes);
  context.SetTensor(1, DType::kInt64, self->sizes);
  return absl::OkStatus();
}

absl::Status LogCumulativeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(1));
  ABSL_RETURN_IF_ERROR(NormalizeDim(dim, self->rank()).status());
  context.SetTensor(0, self->dtype, self->sizes);
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .meta = &CumulativeMeta,
     .traits = kCore,
     .tolerance = {1e-5, 1e-6}},
    {.schema = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .meta = &CumulativeMeta,
     .tolerance = {1e-5, 1e-6},
     .domain = {-2, 2}},
    {.schema = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .meta = &RunningExtremeMeta,
     .dtypes = "self:A ->values:A ->indices:{i64} A=real",
     .tolerance = {0, 0}},
    {.schema = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .meta = &RunningExtremeMeta,
     .dtypes = "self:A ->values:A ->indices:{i64} A=real",
     .tolerance = {0, 0}},
    {.schema = "aten::logcumsumexp(Tensor self, int dim) -> Tensor",
     .meta = &LogCumulativeMeta,
     .dtypes = "self:A ->:A A=float",
     .tolerance = {1e-5, 1e-6}},
};

}  // namespace

absl::Span<const OpDef> ScanOps() { return kRows; }

}  // namespace belay::exir
