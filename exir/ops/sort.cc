// Operators that order the elements along one dimension.

#include <optional>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "exir/ops/pointwise_layout.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/reduction.h"

namespace belay::exir {
namespace {

absl::StatusOr<int> DimAt(const MetaContext& context, int i, int rank) {
  ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(i));
  return NormalizeDim(dim, rank);
}

// Values and indices of these sizes.
absl::Status SetValuesAndIndices(MetaContext& context, DType dtype, std::vector<SymInt> shape) {
  context.SetTensor(0, dtype, shape);
  context.SetTensor(1, DType::kInt64, std::move(shape));
  return absl::OkStatus();
}

// Both results have the layout of the input.
template <int kDimAt>
absl::Status SortMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self,
                        TensorOf(context, 0, kRealTypes | DTypeSet{DType::kUint16}));
  ABSL_RETURN_IF_ERROR(DimAt(context, kDimAt, self->rank()).status());
  for (int i = 0; i < 2; ++i) {
    ABSL_ASSIGN_OR_RETURN(TensorMeta result, ResultLike(i == 0 ? self->dtype : DType::kInt64, *self,
                                                        MemoryFormat::kPreserve));
    context.SetOutput(i, std::move(result));
  }
  return absl::OkStatus();
}

absl::Status TopKMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kIntegralTypes | kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const SymInt k, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimAt(context, 2, self->rank()));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, TopKShape<SymInt>(self->sizes, dim, k));
  return SetValuesAndIndices(context, self->dtype, std::move(shape));
}

// One element of each row.
absl::Status SetSelected(MetaContext& context, const TensorMeta& self, int dim, bool keepdim) {
  const uint32_t mask = self.rank() == 0 ? 0 : uint32_t{1} << dim;
  ABSL_RETURN_IF_ERROR(CheckNotEmpty<SymInt>(self.sizes, mask));
  return SetValuesAndIndices(context, self.dtype, FoldedShape<SymInt>(self.sizes, mask, keepdim));
}

absl::Status MedianMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kIntegralTypes | kFloatTypes));
  ABSL_RETURN_IF_ERROR(CheckRank(self->rank()));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimAt(context, 1, self->rank()));
  ABSL_ASSIGN_OR_RETURN(const bool keepdim, context.Bool(2));
  return SetSelected(context, *self, dim, keepdim);
}

absl::Status KthValueMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, kIntegralTypes | kFloatTypes));
  ABSL_RETURN_IF_ERROR(CheckRank(self->rank()));
  ABSL_ASSIGN_OR_RETURN(const SymInt k, context.Int(1));
  ABSL_ASSIGN_OR_RETURN(const int dim, DimAt(context, 2, self->rank()));
  ABSL_ASSIGN_OR_RETURN(const bool keepdim, context.Bool(3));
  if (k.AsInt() == 0) return absl::InvalidArgumentError("k: expected at least 1, got 0");
  ABSL_RETURN_IF_ERROR(TopKShape<SymInt>(self->sizes, dim, k).status());
  return SetSelected(context, *self, dim, keepdim);
}

constexpr Tolerance kExact = {0, 0};
constexpr std::string_view kOrdered = "self:A ->values:A ->indices:{i64} A=real";

constexpr OpDef kRows[] = {
    {.schema = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, "
               "Tensor indices)",
     .meta = &SortMeta<1>,
     .traits = kCore,
     .dtypes = kOrdered,
     .tolerance = kExact},
    {.schema = "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) "
               "-> (Tensor values, Tensor indices)",
     .meta = &SortMeta<2>,
     .dtypes = kOrdered,
     .tolerance = kExact},
    {.schema = "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) "
               "-> (Tensor values, Tensor indices)",
     .meta = &TopKMeta,
     .traits = kCore,
     .dtypes = kOrdered,
     .tolerance = kExact},
    {.schema = "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor "
               "values, Tensor indices)",
     .meta = &KthValueMeta,
     .traits = kReduction,
     .dtypes = "self:A ->values:A ->indices:{i64} A=int+float",
     .tolerance = kExact},
    {.schema = "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, "
               "Tensor indices)",
     .meta = &MedianMeta,
     .traits = kReduction,
     .dtypes = "self:A ->values:A ->indices:{i64} A=int+float",
     .tolerance = kExact},
};

}  // namespace

absl::Span<const OpDef> SortOps() { return kRows; }

}  // namespace belay::exir
