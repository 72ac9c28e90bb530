// Cumulative sums, products and extremes along one dimension.

#include "runtime/kernel_interface/shape_rules/scan.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"

namespace belay::exir {
namespace {

absl::Status CumulateMeta(MetaContext& context, const CumulateCall<MetaArguments>& call) {
  context.SetTensor(0, call.dtype, call.self->sizes);
  return absl::OkStatus();
}

absl::Status RunningExtremeMeta(MetaContext& context,
                                const RunningExtremeCall<MetaArguments>& call) {
  context.SetTensor(0, call.self->dtype, call.self->sizes);
  context.SetTensor(1, DType::kInt64, call.self->sizes);
  return absl::OkStatus();
}

absl::Status LogCumulateMeta(MetaContext& context, const LogCumulateCall<MetaArguments>& call) {
  context.SetTensor(0, call.self->dtype, call.self->sizes);
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .meta = &MetaKernel<&CumulateMeta>,
     .traits = kCore,
     .tolerance = {1e-5, 1e-6}},
    {.schema = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .meta = &MetaKernel<&CumulateMeta>,
     .tolerance = {1e-5, 1e-6},
     .domain = {-2, 2}},
    {.schema = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .meta = &MetaKernel<&RunningExtremeMeta>,
     .dtypes = "self:A ->values:A ->indices:{i64} A=real",
     .tolerance = {0, 0}},
    {.schema = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     .meta = &MetaKernel<&RunningExtremeMeta>,
     .dtypes = "self:A ->values:A ->indices:{i64} A=real",
     .tolerance = {0, 0}},
    {.schema = "aten::logcumsumexp(Tensor self, int dim) -> Tensor",
     .meta = &MetaKernel<&LogCumulateMeta>,
     .dtypes = "self:A ->:A A=float",
     .tolerance = {1e-5, 1e-6}},
};

}  // namespace

absl::Span<const OpDef> ScanOps() { return kRows; }

}  // namespace belay::exir
