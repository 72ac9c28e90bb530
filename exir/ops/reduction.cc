// Reductions.

#include "runtime/kernel_interface/shape_rules/reduction.h"
#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"

namespace belay::exir {
namespace {

// sum, prod, mean, any, all.
template <class Call>
absl::Status FoldMeta(MetaContext& context, const Call& call) {
  context.SetTensor(0, call.dtype, call.fold.Shape());
  return absl::OkStatus();
}
template <DimsAre kDims>
constexpr auto kSumMeta = &MetaKernel<&FoldMeta<SumCall<MetaArguments, kDims>>>;
template <DimsAre kDims>
constexpr auto kMeanMeta = &MetaKernel<&FoldMeta<MeanCall<MetaArguments, kDims>>>;
template <DimsAre kDims>
constexpr auto kTruthMeta = &MetaKernel<&FoldMeta<TruthCall<MetaArguments, kDims>>>;

// max, min, amax, amin and, with indices, max.dim and min.dim.
template <DimsAre kDims, bool kPlaces>
absl::Status ExtremeMeta(MetaContext& context,
                         const ExtremeCall<MetaArguments, kDims, false>& call) {
  ABSL_RETURN_IF_ERROR(call.fold.CheckHasElements());
  context.SetTensor(0, call.fold.self->dtype, call.fold.Shape());
  if (kPlaces) context.SetTensor(1, DType::kInt64, call.fold.Shape());
  return absl::OkStatus();
}

absl::Status ArgExtremeMeta(MetaContext& context,
                            const ExtremeCall<MetaArguments, DimsAre::kOptionalOne, true>& call) {
  ABSL_RETURN_IF_ERROR(call.fold.CheckHasElements());
  context.SetTensor(0, DType::kInt64, call.fold.Shape());
  return absl::OkStatus();
}

// var, optionally with the mean as second result.
template <bool kMean>
absl::Status VarMeta(MetaContext& context, const VarCall<MetaArguments>& call) {
  const DType dtype = call.fold.self->dtype;
  context.SetTensor(0, RealPart(dtype), call.fold.Shape());
  if (kMean) context.SetTensor(1, dtype, call.fold.Shape());
  return absl::OkStatus();
}

absl::Status VectorNormMeta(MetaContext& context, const VectorNormCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  context.SetTensor(0, RealPart(call.dtype), call.fold.Shape());
  return absl::OkStatus();
}

constexpr Tolerance kSum = {1e-5, 1e-6};
constexpr Tolerance kExact = {0, 0};
constexpr std::string_view kSameReal = "self:A ->:A A=real";

constexpr OpDef kRows[] = {
    {.schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .meta = kSumMeta<DimsAre::kAll>,
     .traits = kReduction,
     .tolerance = kSum},
    {.schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .meta = kSumMeta<DimsAre::kList>,
     .traits = kCore | kReduction,
     .tolerance = kSum},
    {.schema = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .meta = kSumMeta<DimsAre::kAll>,
     .traits = kCore | kReduction,
     .tolerance = kSum,
     .domain = {-2, 2}},
    {.schema = "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .meta = kSumMeta<DimsAre::kOne>,
     .traits = kCore | kReduction,
     .tolerance = kSum,
     .domain = {-2, 2}},
    {.schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .meta = kMeanMeta<DimsAre::kAll>,
     .traits = kCore | kReduction,
     .tolerance = kSum},
    {.schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .meta = kMeanMeta<DimsAre::kList>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:float+complex",
     .tolerance = kSum},
    {.schema = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .meta = &MetaKernel<&ExtremeMeta<DimsAre::kList, false>>,
     .traits = kCore | kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .meta = &MetaKernel<&ExtremeMeta<DimsAre::kList, false>>,
     .traits = kCore | kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::max(Tensor self) -> Tensor",
     .meta = &MetaKernel<&ExtremeMeta<DimsAre::kAll, false>>,
     .traits = kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::min(Tensor self) -> Tensor",
     .meta = &MetaKernel<&ExtremeMeta<DimsAre::kAll, false>>,
     .traits = kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
               "indices)",
     .meta = &MetaKernel<&ExtremeMeta<DimsAre::kOne, true>>,
     .traits = kCore | kReduction,
     .dtypes = "self:A ->values:A ->indices:B A=real B={i64}",
     .tolerance = kExact},
    {.schema = "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
               "indices)",
     .meta = &MetaKernel<&ExtremeMeta<DimsAre::kOne, true>>,
     .traits = kCore | kReduction,
     .dtypes = "self:A ->values:A ->indices:B A=real B={i64}",
     .tolerance = kExact},
    {.schema = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .meta = &MetaKernel<&ArgExtremeMeta>,
     .traits = kCore | kReduction,
     .dtypes = "self:int+float ->:{i64}",
     .tolerance = kExact},
    {.schema = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .meta = &MetaKernel<&ArgExtremeMeta>,
     .traits = kCore | kReduction,
     .dtypes = "self:int+float ->:{i64}",
     .tolerance = kExact},
    {.schema = "aten::any(Tensor self) -> Tensor",
     .meta = kTruthMeta<DimsAre::kAll>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .meta = kTruthMeta<DimsAre::kOne>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     .meta = kTruthMeta<DimsAre::kExactList>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::all(Tensor self) -> Tensor",
     .meta = kTruthMeta<DimsAre::kAll>,
     .traits = kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .meta = kTruthMeta<DimsAre::kOne>,
     .traits = kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     .meta = kTruthMeta<DimsAre::kExactList>,
     .traits = kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
               "Tensor",
     .meta = &MetaKernel<&VarMeta<false>>,
     .traits = kCore | kReduction,
     .dtypes = "self:float+complex ->:float",
     .tolerance = kSum},
    {.schema =
         "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> Tensor",
     .meta = &MetaKernel<&VarMeta<false>>,
     .traits = kCore | kReduction,
     .dtypes = "self:float+complex ->:float",
     .tolerance = kSum},
    {.schema = "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
               "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     .meta = &MetaKernel<&VarMeta<true>>,
     .traits = kReduction,
     .dtypes = "self:A ->0:float ->1:A A=float+complex",
     .tolerance = kSum},
    {.schema = "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
               "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .meta = &MetaKernel<&VectorNormMeta>,
     .traits = kReduction,
     .dtypes = "self:float+complex ->:float",
     .tolerance = kSum},
};

}  // namespace

absl::Span<const OpDef> ReductionOps() { return kRows; }

}  // namespace belay::exir
