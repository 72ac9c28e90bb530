// Products of matrices and vectors.

#include <complex>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "exir/ops/pointwise.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/matmul.h"

namespace belay::exir {
namespace {

constexpr Tolerance kProduct = {1e-5, 1e-6};

// Factors with an imaginary part are for complex matrices.
absl::Status CheckScale(const MetaContext& context, int i, DType dtype) {
  if (IsComplex(dtype)) return context.ScalarCategory(i).status();
  ABSL_RETURN_IF_ERROR(CheckRealNumber(context, i));
  if (!IsIntegral(dtype, false)) return absl::OkStatus();
  const MetaValue& value = context.argument(i);
  double factor = 0;
  if (const double* real = value.get_if<double>()) factor = *real;
  if (const auto* complex = value.get_if<std::complex<double>>()) factor = complex->real();
  if (const SymExpr* e = value.get_if<SymExpr>()) {
    if (dtype == DType::kInt64) return absl::OkStatus();
    factor = static_cast<double>(e->AsInt().value_or(0));
  }
  return CheckIntegerFactor(context.schema().arguments[i].name, dtype, factor);
}

// The product of arguments `first` and `first` + 1, both of one dtype.
template <absl::StatusOr<Dims<SymInt>> (*kShape)(SymDims, SymDims)>
absl::Status Product(MetaContext& context, int first) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, first, kMatrixTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* b, TensorOf(context, first + 1, a->dtype));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> shape, kShape(a->sizes, b->sizes));
  context.SetTensor(0, a->dtype, std::move(shape));
  return absl::OkStatus();
}

template <absl::StatusOr<Dims<SymInt>> (*kShape)(SymDims, SymDims)>
absl::Status ProductMeta(MetaContext& context) {
  return Product<kShape>(context, 0);
}

// beta * self + alpha * product.
template <absl::StatusOr<Dims<SymInt>> (*kShape)(SymDims, SymDims)>
absl::Status ScaledSumMeta(MetaContext& context) {
  ABSL_RETURN_IF_ERROR(Product<kShape>(context, 1));
  const TensorMeta product = *context.outputs()[0].get_if<TensorMeta>();
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* self, TensorOf(context, 0, product.dtype));
  ABSL_RETURN_IF_ERROR(CheckExpandable<SymInt>("self", self->sizes, product.sizes));
  ABSL_RETURN_IF_ERROR(CheckScale(context, 3, product.dtype));
  return CheckScale(context, 4, product.dtype);
}

absl::StatusOr<Dims<SymInt>> MmShape(SymDims a, SymDims b) { return MatMulShape<SymInt>(a, b, 0); }
absl::StatusOr<Dims<SymInt>> BmmShape(SymDims a, SymDims b) { return MatMulShape<SymInt>(a, b, 1); }

absl::Status TrilinearMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* first, TensorOf(context, 0, kFloatTypes));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> expand1, context.StaticIntList(3));
  ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> sum, context.StaticIntList(6));
  const int rank = static_cast<int>(first->sizes.size() + expand1.size());
  std::vector<SymInt> shape;
  for (int i = 0; i < 3; ++i) {
    ABSL_ASSIGN_OR_RETURN(const TensorMeta* operand, TensorOf(context, i, first->dtype));
    ABSL_ASSIGN_OR_RETURN(const std::vector<int64_t> expand, context.StaticIntList(3 + i));
    ABSL_ASSIGN_OR_RETURN(const Dims<SymInt> expanded,
                          ExpandedShape<SymInt>(operand->sizes, expand, rank));
    if (i == 0) {
      shape = expanded;
    } else {
      ABSL_ASSIGN_OR_RETURN(shape, BroadcastShape<SymInt>(shape, expanded));
    }
  }
  ABSL_ASSIGN_OR_RETURN(const uint32_t summed, DimMask(sum, rank));
  ABSL_ASSIGN_OR_RETURN(const int64_t unrolled, context.StaticInt(7));
  ABSL_RETURN_IF_ERROR(CheckUnrolledDim(unrolled, rank));
  std::vector<SymInt> left;
  for (int d = 0; d < rank; ++d) {
    if ((summed >> d & 1) == 0) left.push_back(shape[d]);
  }
  context.SetTensor(0, first->dtype, std::move(left));
  return absl::OkStatus();
}

constexpr OpDef kRows[] = {
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
     .meta = &ProductMeta<MmShape>,
     .traits = kCore,
     .dtypes = "self:A mat2:A ->:A A=int+float+complex",
     .tolerance = kProduct,
     .flops = {FlopRule::kProduct, "self"}},
    {.schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
     .meta = &ProductMeta<BmmShape>,
     .traits = kCore,
     .dtypes = "self:A mat2:A ->:A A=int+float+complex",
     .tolerance = kProduct,
     .flops = {FlopRule::kProduct, "self"}},
    {.schema = "aten::mv(Tensor self, Tensor vec) -> Tensor",
     .meta = &ProductMeta<MatVecShape<SymInt>>,
     .dtypes = "self:A vec:A ->:A A=int+float+complex",
     .tolerance = kProduct,
     .flops = {FlopRule::kProduct, "self"}},
    {.schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
     .meta = &ProductMeta<DotShape<SymInt>>,
     .dtypes = "self:A tensor:A ->:A A=int+float+complex",
     .tolerance = kProduct,
     .flops = {FlopRule::kProduct, "self"}},
    {.schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .meta = &ScaledSumMeta<MmShape>,
     .traits = kCore,
     .dtypes = "self:A mat1:A mat2:A ->:A A=int+float+complex",
     .tolerance = kProduct,
     .flops = {FlopRule::kProduct, "mat1"}},
    {.schema = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar "
               "alpha=1) -> Tensor",
     .meta = &ScaledSumMeta<BmmShape>,
     .dtypes = "self:A batch1:A batch2:A ->:A A=int+float+complex",
     .tolerance = kProduct,
     .flops = {FlopRule::kProduct, "batch1"}},
    {.schema = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) "
               "-> Tensor",
     .meta = &ScaledSumMeta<MatVecShape<SymInt>>,
     .dtypes = "self:A mat:A vec:A ->:A A=int+float+complex",
     .tolerance = kProduct,
     .flops = {FlopRule::kProduct, "mat"}},
    {.schema = "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, "
               "int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     .meta = &TrilinearMeta,
     .dtypes = "i1:A i2:A i3:A ->:A A=float",
     .tolerance = kProduct},
};

}  // namespace

absl::Span<const OpDef> LinalgOps() { return kRows; }

}  // namespace belay::exir
