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

// --- Shapes: the same rules as those of the kernels (runtime/kernels/reference/matrix_algebra.cc)
// ---

// Batches of matrices [...,rows,columns].
struct MatrixShape {
  Dims<SymInt> batch;
  SymInt rows, columns;

  Dims<SymInt> With(const SymInt& last) const {
    Dims<SymInt> dims = batch;
    dims.push_back(last);
    return dims;
  }
  Dims<SymInt> With(const SymInt& rows_of, const SymInt& columns_of) const {
    Dims<SymInt> dims = With(rows_of);
    dims.push_back(columns_of);
    return dims;
  }
};

absl::StatusOr<MatrixShape> MatricesShape(absl::Span<const SymInt> dims) {
  const size_t rank = dims.size();
  if (rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected matrices, got shape ", FormatDims<SymInt>(dims)));
  }
  MatrixShape shape{.batch = {}, .rows = dims[rank - 2], .columns = dims[rank - 1]};
  for (size_t d = 0; d + 2 < rank; ++d) shape.batch.push_back(dims[d]);
  return shape;
}

// A system of equations: the matrix is square, the right hand sides are as many rows (or columns
// when the unknowns stand on the left), batches are equal.
absl::Status CheckSystem(absl::Span<const SymInt> matrix, absl::Span<const SymInt> sides,
                         bool left) {
  if (absl::StatusOr<Dims<SymInt>> batch = SquareBatch<SymInt>(matrix); !batch.ok())
    return batch.status();
  bool fits = matrix.size() == sides.size();
  for (size_t d = 0; fits && d + 2 < matrix.size(); ++d) {
    fits = !KnownDifferent(matrix[d], sides[d]);
  }
  fits = fits && !KnownDifferent(matrix.back(), sides[sides.size() - (left ? 2 : 1)]);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a system of shape ", FormatDims<SymInt>(matrix),
                                                 " does not fit right hand sides of shape ",
                                                 FormatDims<SymInt>(sides)));
}

// The row exchanges of a square factorization: [...,n].
absl::Status CheckPivots(absl::Span<const SymInt> matrix, absl::Span<const SymInt> pivots) {
  bool fits = pivots.size() + 1 == matrix.size();
  for (size_t d = 0; fits && d < pivots.size(); ++d) fits = !KnownDifferent(matrix[d], pivots[d]);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("pivots of shape ", FormatDims<SymInt>(pivots),
                                                 " do not belong to matrices of shape ",
                                                 FormatDims<SymInt>(matrix)));
}

enum class QrMode : uint8_t { kReduced, kComplete, kOnlyR };

absl::StatusOr<QrMode> ParseQrMode(std::string_view mode) {
  if (mode == "reduced") return QrMode::kReduced;
  if (mode == "complete") return QrMode::kComplete;
  if (mode == "r") return QrMode::kOnlyR;
  return absl::InvalidArgumentError("mode: expected reduced, complete or r");
}

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
  ABSL_ASSIGN_OR_RETURN(const MatrixShape shape, MatricesShape(a->sizes));
  context.SetTensor(1, DType::kInt32, shape.With(SymMin(shape.rows, shape.columns)));
  context.SetTensor(2, DType::kInt32, shape.batch);
  return SetColumnMajor(context, 0, a->dtype, a->sizes);
}

absl::Status LuSolveMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* lu, TensorOf(context, 0, kFactorTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* pivots, TensorOf(context, 1, DType::kInt32));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* b, TensorOf(context, 2, lu->dtype));
  ABSL_ASSIGN_OR_RETURN(const bool left, context.Bool(3));
  ABSL_RETURN_IF_ERROR(CheckSystem(lu->sizes, b->sizes, left));
  ABSL_RETURN_IF_ERROR(CheckPivots(lu->sizes, pivots->sizes));
  return SetColumnMajor(context, 0, b->dtype, b->sizes);
}

absl::Status TriangularMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kFactorTypes));
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* b, TensorOf(context, 1, a->dtype));
  ABSL_ASSIGN_OR_RETURN(const bool left, context.Bool(3));
  ABSL_RETURN_IF_ERROR(CheckSystem(a->sizes, b->sizes, left));
  return SetColumnMajor(context, 0, b->dtype, b->sizes);
}

absl::Status QrMeta(MetaContext& context) {
  ABSL_ASSIGN_OR_RETURN(const TensorMeta* a, TensorOf(context, 0, kRealTypes));
  ABSL_ASSIGN_OR_RETURN(const std::string_view text, context.String(1));
  ABSL_ASSIGN_OR_RETURN(const QrMode mode, ParseQrMode(text));
  ABSL_ASSIGN_OR_RETURN(const MatrixShape shape, MatricesShape(a->sizes));
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
  ABSL_ASSIGN_OR_RETURN(const MatrixShape shape, MatricesShape(a->sizes));
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
