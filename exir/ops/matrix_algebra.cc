// Factorizations of matrices of any shape, systems of equations, matrix functions.

#include <string_view>
#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_checks.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel/shape_rules/factorization.h"

namespace belay::exir {
namespace {

constexpr DTypeSet kRealTypes = {DType::kFloat32, DType::kFloat64};
constexpr DTypeSet kFactorTypes = kRealTypes | kComplexTypes;

// LAPACK's layout: contiguous, but each matrix by columns.
absl::Status SetColumnMajor(MetaContext& context, int i, DType dtype, std::vector<SymInt> sizes) {
  ABSL_RETURN_IF_ERROR(CheckRank(static_cast<int64_t>(sizes.size())));
  DimOrder order = ContiguousOrder(static_cast<int>(sizes.size()));
  std::swap(order[sizes.size() - 1], order[sizes.size() - 2]);
  context.SetOutput(i, TensorMeta::Dense(dtype, std::move(sizes), order));
  return absl::OkStatus();
}
void SetEmpty(MetaContext& context, int i, DType dtype) {
  context.SetTensor(i, dtype, {SymInt(0)});
}

absl::Status LuFactorMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kFactorTypes));
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<SymInt> shape, MatricesShape<SymInt>(a->sizes));
  context.SetTensor(1, DType::kInt32, shape.With(SymMin(shape.rows, shape.columns)));
  context.SetTensor(2, DType::kInt32, shape.batch);
  return SetColumnMajor(context, 0, a->dtype, a->sizes);
}

absl::Status LuSolveMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* lu, TensorOf(context, 0, kFactorTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* pivots, TensorOf(context, 1, DType::kInt32));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* b, TensorOf(context, 2, lu->dtype));
  ABSL_ASSIGN_OR_RETURN(const bool left, context.Bool(3));
  ABSL_RETURN_IF_ERROR(CheckSystem<SymInt>(lu->sizes, b->sizes, left));
  ABSL_RETURN_IF_ERROR(CheckPivots<SymInt>(lu->sizes, pivots->sizes));
  return SetColumnMajor(context, 0, b->dtype, b->sizes);
}

absl::Status TriangularMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kFactorTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* b, TensorOf(context, 1, a->dtype));
  ABSL_ASSIGN_OR_RETURN(const bool left, context.Bool(3));
  ABSL_RETURN_IF_ERROR(CheckSystem<SymInt>(a->sizes, b->sizes, left));
  return SetColumnMajor(context, 0, b->dtype, b->sizes);
}

absl::Status QrMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, context.String(1));
  ABSL_ASSIGN_OR_RETURN(const QrMode mode, ParseQrMode(text));
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<SymInt> shape, MatricesShape<SymInt>(a->sizes));
  const SymInt inner = mode == QrMode::kComplete ? shape.rows : SymMin(shape.rows, shape.columns);
  if (mode == QrMode::kOnlyR) {
    SetEmpty(context, 0, a->dtype);
  } else {
    ABSL_RETURN_IF_ERROR(SetColumnMajor(context, 0, a->dtype, shape.With(shape.rows, inner)));
  }
  return SetColumnMajor(context, 1, a->dtype, shape.With(inner, shape.columns));
}

absl::Status EighMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const bool vectors, context.Bool(2));
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> values, SquareBatch<SymInt>(a->sizes));
  values.push_back(a->sizes.back());
  context.SetTensor(0, a->dtype, std::move(values));
  if (vectors) return SetColumnMajor(context, 1, a->dtype, a->sizes);
  SetEmpty(context, 1, a->dtype);
  return absl::OkStatus();
}

absl::Status SvdMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const bool full, context.Bool(1));
  ABSL_ASSIGN_OR_RETURN(const bool vectors, context.Bool(2));
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<SymInt> shape, MatricesShape<SymInt>(a->sizes));
  const SymInt inner = SymMin(shape.rows, shape.columns);
  context.SetTensor(1, a->dtype, shape.With(inner));
  if (!vectors) {
    SetEmpty(context, 0, a->dtype);
    SetEmpty(context, 2, a->dtype);
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(
      SetColumnMajor(context, 0, a->dtype, shape.With(shape.rows, full ? shape.rows : inner)));
  return SetColumnMajor(context, 2, a->dtype,
                        shape.With(full ? shape.columns : inner, shape.columns));
}

absl::Status MatrixExpMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kRealTypes));
  ABSL_RETURN_IF_ERROR(SquareBatch<SymInt>(a->sizes).status());
  context.SetTensor(0, a->dtype, a->sizes);
  return absl::OkStatus();
}

constexpr Tolerance kFactor = {1e-4, 1e-5};

constexpr OpDef kRows[] = {
    {.schema = "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) "
               "-> (Tensor LU, Tensor pivots, Tensor info)",
     .meta = &LuFactorMeta,
     .tolerance = kFactor},
    {.schema = "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
               "adjoint=False) -> Tensor",
     .meta = &LuSolveMeta,
     .tolerance = kFactor},
    {.schema = "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool "
               "left=True, bool unitriangular=False) -> Tensor",
     .meta = &TriangularMeta,
     .tolerance = kFactor},
    {.schema = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
     .meta = &QrMeta,
     .tolerance = kFactor},
    {.schema = "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor "
               "eigenvalues, Tensor eigenvectors)",
     .meta = &EighMeta,
     .tolerance = kFactor},
    {.schema = "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, "
               "str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     .meta = &SvdMeta,
     .tolerance = kFactor},
    {.schema = "aten::linalg_matrix_exp(Tensor self) -> Tensor",
     .meta = &MatrixExpMeta,
     .tolerance = kFactor},
};

}  // namespace

absl::Span<const OpDef> MatrixAlgebraOps() { return kRows; }

}  // namespace belay::exir
