// Sorting and selection along one dimension.

#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/sort.h"

namespace belay::exir {
namespace {

// Both results have the layout of the input.
absl::Status SortMeta(MetaContext& context, const SortCall<MetaArguments>& call) {
  for (int i = 0; i < 2; ++i) {
    ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(i == 0 ? call.self->dtype : DType::kInt64,
                                                        *call.self, MemoryFormat::kPreserve));
    context.SetOutput(i, std::move(result));
  }
  return absl::OkStatus();
}

// Values and indices of the call's shape: topk, kthvalue, median.
template <class Call>
absl::Status SelectMeta(MetaContext& context, const Call& call) {
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, call.Shape());
  context.SetTensor(0, call.self->dtype, shape);
  context.SetTensor(1, DType::kInt64, std::move(shape));
  return absl::OkStatus();
}

constexpr Tolerance kExact = {0, 0};
constexpr std::string_view kOrdered = "self:A ->values:A ->indices:{i64} A=real";

constexpr OpDef kRows[] = {
    {.schema = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, "
               "Tensor indices)",
     .meta = &MetaKernel<&SortMeta>,
     .traits = kCore,
     .dtypes = kOrdered,
     .tolerance = kExact},
    {.schema = "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) "
               "-> (Tensor values, Tensor indices)",
     .meta = &MetaKernel<&SortMeta>,
     .dtypes = kOrdered,
     .tolerance = kExact},
    {.schema = "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) "
               "-> (Tensor values, Tensor indices)",
     .meta = &MetaKernel<&SelectMeta<TopKCall<MetaArguments>>>,
     .traits = kCore,
     .dtypes = kOrdered,
     .tolerance = kExact},
    {.schema = "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor "
               "values, Tensor indices)",
     .meta = &MetaKernel<&SelectMeta<KthValueCall<MetaArguments>>>,
     .traits = kReduction,
     .dtypes = "self:A ->values:A ->indices:{i64} A=int+float",
     .tolerance = kExact},
    {.schema = "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
               "Tensor indices)",
     .meta = &MetaKernel<&SelectMeta<MedianCall<MetaArguments>>>,
     .traits = kReduction,
     .dtypes = "self:A ->values:A ->indices:{i64} A=int+float",
     .tolerance = kExact},
};

}  // namespace

absl::Span<const OpDef> SortOps() { return kRows; }

}  // namespace belay::exir
