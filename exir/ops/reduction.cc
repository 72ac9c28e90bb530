// Operators that fold dimensions.

#include <optional>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/reduction.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kSummable = kRealTypes | kComplexTypes | kUnsignedWideTypes;
constexpr DTypeSet kFloatOrComplex = kFloatTypes | kComplexTypes;

struct Fold {
  const TensorMeta* self = nullptr;
  uint32_t mask = 0;
  std::vector<SymInt> shape;  // of the result
};

absl::StatusOr<Fold> FoldOf(const MetaContext& context, DTypeSet allowed, DimsAre dims_are,
                            int dims_at, int keepdim_at) {
  Fold fold;
  ABSL_ASSIGN_OR_RETURN(fold.self, TensorOf(context, 0, allowed));
  const int rank = fold.self->rank();
  bool keepdim = false;
  if (dims_are == DimsAre::kAll || context.is_none(dims_at)) {
    ABSL_ASSIGN_OR_RETURN(fold.mask, FoldedDims(std::nullopt, rank));
  } else if (dims_are == DimsAre::kOne || dims_are == DimsAre::kOptionalOne) {
    ABSL_ASSIGN_OR_RETURN(const int64_t dim, context.StaticInt(dims_at));
    ABSL_ASSIGN_OR_RETURN(fold.mask, FoldedDims(absl::MakeConstSpan(&dim, 1), rank));
  } else {
    ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, context.StaticIntList(dims_at));
    ABSL_ASSIGN_OR_RETURN(
        fold.mask, FoldedDims(absl::MakeConstSpan(dims), rank, dims_are == DimsAre::kExactList));
  }
  if (dims_are != DimsAre::kAll) {
    ABSL_ASSIGN_OR_RETURN(keepdim, context.Bool(keepdim_at));
  }
  fold.shape = FoldedShape<SymInt>(fold.self->sizes, fold.mask, keepdim);
  return fold;
}

// sum, prod: integers become int64 unless `dtype` says otherwise.
template <DimsAre kDims>
absl::Status SumMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Fold fold, FoldOf(context, kSummable, kDims, 1, 2));
  const DType natural = IsIntegral(fold.self->dtype, true) ? DType::kInt64 : fold.self->dtype;
  ABSL_ASSIGN_OR_RETURN(const DType dtype,
                        context.DtypeOr(kDims == DimsAre::kAll ? 1 : 3, natural));
  context.SetTensor(0, dtype, std::move(fold.shape));
  return absl::OkStatus();
}

template <DimsAre kDims>
absl::Status MeanMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Fold fold, FoldOf(context, kSummable, kDims, 1, 2));
  ABSL_ASSIGN_OR_RETURN(const DType dtype,
                        context.DtypeOr(kDims == DimsAre::kAll ? 1 : 3, fold.self->dtype));
  if (!kFloatOrComplex.contains(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mean: expected a floating point or complex type, got ", DTypeName(dtype)));
  }
  context.SetTensor(0, dtype, std::move(fold.shape));
  return absl::OkStatus();
}

// max, min, amax, amin.
template <DimsAre kDims>
absl::Status ExtremeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Fold fold, FoldOf(context, kRealTypes, kDims, 1, 2));
  ABSL_RETURN_IF_ERROR(CheckNotEmpty<SymInt>(fold.self->sizes, fold.mask));
  context.SetTensor(0, fold.self->dtype, fold.shape);
  return absl::OkStatus();
}

// max.dim, min.dim.
absl::Status ExtremeWithIndexMeta(MetaContext& context) {
  ABSL_RETURN_IF_ERROR(ExtremeMeta<DimsAre::kOne>(context));
  context.SetTensor(1, DType::kInt64, context.outputs()[0].get_if<TensorMeta>()->sizes);
  return absl::OkStatus();
}

absl::Status ArgExtremeMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Fold fold,
                        FoldOf(context, kIntegralTypes | kFloatTypes, DimsAre::kOptionalOne, 1, 2));
  ABSL_RETURN_IF_ERROR(CheckNotEmpty<SymInt>(fold.self->sizes, fold.mask));
  context.SetTensor(0, DType::kInt64, std::move(fold.shape));
  return absl::OkStatus();
}

// any, all: bool, but uint8 for uint8.
template <DimsAre kDims>
absl::Status TruthMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Fold fold, FoldOf(context, kSummable, kDims, 1, 2));
  const DType dtype = fold.self->dtype == DType::kUint8 ? DType::kUint8 : DType::kBool;
  context.SetTensor(0, dtype, std::move(fold.shape));
  return absl::OkStatus();
}

// var, with the mean as second result.
template <bool kMean>
absl::Status VarMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Fold fold, FoldOf(context, kFloatOrComplex, DimsAre::kList, 1, 3));
  context.SetTensor(0, RealPart(fold.self->dtype), fold.shape);
  if (kMean) context.SetTensor(1, fold.self->dtype, std::move(fold.shape));
  return absl::OkStatus();
}

absl::Status VectorNormMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(Fold fold, FoldOf(context, kFloatOrComplex, DimsAre::kList, 2, 3));
  ABSL_ASSIGN_OR_RETURN(const DType dtype, context.DtypeOr(4, fold.self->dtype));
  ABSL_ASSIGN_OR_RETURN(const double order, context.Double(1));
  ABSL_RETURN_IF_ERROR(CheckNormDType(fold.self->dtype, dtype));
  // The norms below 0 and the maximum norm have no value for a vector without elements.
  if (order < 0 || order > 1.7e308) {
    ABSL_RETURN_IF_ERROR(CheckNotEmpty<SymInt>(fold.self->sizes, fold.mask));
  }
  context.SetTensor(0, RealPart(dtype), std::move(fold.shape));
  return absl::OkStatus();
}

constexpr Tolerance kSum = {1e-5, 1e-6};
constexpr Tolerance kExact = {0, 0};
constexpr std::string_view kSameReal = "self:A ->:A A=real";

constexpr OpDef kRows[] = {
    {.schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .meta = &SumMeta<DimsAre::kAll>,
     .traits = kReduction,
     .tolerance = kSum},
    {.schema = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .meta = &SumMeta<DimsAre::kList>,
     .traits = kCore | kReduction,
     .tolerance = kSum},
    {.schema = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .meta = &SumMeta<DimsAre::kAll>,
     .traits = kCore | kReduction,
     .tolerance = kSum,
     .domain = {-2, 2}},
    {.schema = "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .meta = &SumMeta<DimsAre::kOne>,
     .traits = kCore | kReduction,
     .tolerance = kSum,
     .domain = {-2, 2}},
    {.schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
     .meta = &MeanMeta<DimsAre::kAll>,
     .traits = kCore | kReduction,
     .tolerance = kSum},
    {.schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor",
     .meta = &MeanMeta<DimsAre::kList>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:float+complex",
     .tolerance = kSum},
    {.schema = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .meta = &ExtremeMeta<DimsAre::kList>,
     .traits = kCore | kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
     .meta = &ExtremeMeta<DimsAre::kList>,
     .traits = kCore | kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::max(Tensor self) -> Tensor",
     .meta = &ExtremeMeta<DimsAre::kAll>,
     .traits = kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::min(Tensor self) -> Tensor",
     .meta = &ExtremeMeta<DimsAre::kAll>,
     .traits = kReduction,
     .dtypes = kSameReal,
     .tolerance = kExact},
    {.schema = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
               "indices)",
     .meta = &ExtremeWithIndexMeta,
     .traits = kCore | kReduction,
     .dtypes = "self:A ->values:A ->indices:B A=real B={i64}",
     .tolerance = kExact},
    {.schema = "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
               "indices)",
     .meta = &ExtremeWithIndexMeta,
     .traits = kCore | kReduction,
     .dtypes = "self:A ->values:A ->indices:B A=real B={i64}",
     .tolerance = kExact},
    {.schema = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .meta = &ArgExtremeMeta,
     .traits = kCore | kReduction,
     .dtypes = "self:int+float ->:{i64}",
     .tolerance = kExact},
    {.schema = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
     .meta = &ArgExtremeMeta,
     .traits = kCore | kReduction,
     .dtypes = "self:int+float ->:{i64}",
     .tolerance = kExact},
    {.schema = "aten::any(Tensor self) -> Tensor",
     .meta = &TruthMeta<DimsAre::kAll>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .meta = &TruthMeta<DimsAre::kOne>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     .meta = &TruthMeta<DimsAre::kExactList>,
     .traits = kCore | kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::all(Tensor self) -> Tensor",
     .meta = &TruthMeta<DimsAre::kAll>,
     .traits = kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     .meta = &TruthMeta<DimsAre::kOne>,
     .traits = kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     .meta = &TruthMeta<DimsAre::kExactList>,
     .traits = kReduction,
     .dtypes = "self:any ->:{b8,u8}",
     .tolerance = kExact},
    {.schema = "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
               "Tensor",
     .meta = &VarMeta<false>,
     .traits = kCore | kReduction,
     .dtypes = "self:float+complex ->:float",
     .tolerance = kSum},
    {.schema =
         "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
         "keepdim=False) -> Tensor",
     .meta = &VarMeta<false>,
     .traits = kCore | kReduction,
     .dtypes = "self:float+complex ->:float",
     .tolerance = kSum},
    {.schema = "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? "
               "correction=None, bool keepdim=False) -> (Tensor, Tensor)",
     .meta = &VarMeta<true>,
     .traits = kReduction,
     .dtypes = "self:A ->0:float ->1:A A=float+complex",
     .tolerance = kSum},
    {.schema = "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
               "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     .meta = &VectorNormMeta,
     .traits = kReduction,
     .dtypes = "self:float+complex ->:float",
     .tolerance = kSum},
};

}  // namespace

absl::Span<const OpDef> ReductionOps() { return kRows; }

}  // namespace belay::exir
