// Factorizations of matrices of any shape, systems of linear equations, matrix functions.

#include <utility>
#include <vector>

#include "exir/ops/families.h"
#include "exir/ops/meta_arguments.h"
#include "runtime/core/status_macros.h"
#include "runtime/kernel_interface/shape_rules/factorization.h"

namespace belay::exir {
namespace {

// LAPACK's layout: contiguous batches of column-major matrices.
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

absl::Status LuFactorMeta(MetaContext& context, const LuFactorCall<MetaArguments>& call) {
  const TensorMeta* const a = call.a;
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<SymInt> shape, call.Shape());
  context.SetTensor(1, DType::kInt32, shape.With(SymMin(shape.rows, shape.columns)));
  context.SetTensor(2, DType::kInt32, shape.batch);
  return SetColumnMajor(context, 0, a->dtype, a->sizes);
}

// The solution has the shape of the right-hand sides.
template <class Call>
absl::Status SolveMeta(MetaContext& context, const Call& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  return SetColumnMajor(context, 0, call.b->dtype, call.b->sizes);
}

absl::Status QrMeta(MetaContext& context, const QrCall<MetaArguments>& call) {
  const TensorMeta* const a = call.a;
  const QrMode mode = call.mode;
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<SymInt> shape, call.Shape());
  const SymInt inner = mode == QrMode::kComplete ? shape.rows : SymMin(shape.rows, shape.columns);
  if (mode == QrMode::kOnlyR) {
    SetEmpty(context, 0, a->dtype);
  } else {
    ABSL_RETURN_IF_ERROR(SetColumnMajor(context, 0, a->dtype, shape.With(shape.rows, inner)));
  }
  return SetColumnMajor(context, 1, a->dtype, shape.With(inner, shape.columns));
}

absl::Status EighMeta(MetaContext& context, const EighCall<MetaArguments>& call) {
  const TensorMeta* const a = call.a;
  ABSL_ASSIGN_OR_RETURN(std::vector<SymInt> values, call.Shape());
  context.SetTensor(0, a->dtype, std::move(values));
  if (call.vectors) return SetColumnMajor(context, 1, a->dtype, a->sizes);
  SetEmpty(context, 1, a->dtype);
  return absl::OkStatus();
}

absl::Status SvdMeta(MetaContext& context, const SvdCall<MetaArguments>& call) {
  const TensorMeta* const a = call.a;
  const bool full = call.full_matrices;
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<SymInt> shape, call.Shape());
  const SymInt inner = SymMin(shape.rows, shape.columns);
  context.SetTensor(1, a->dtype, shape.With(inner));
  if (!call.vectors) {
    SetEmpty(context, 0, a->dtype);
    SetEmpty(context, 2, a->dtype);
    return absl::OkStatus();
  }
  ABSL_RETURN_IF_ERROR(
      SetColumnMajor(context, 0, a->dtype, shape.With(shape.rows, full ? shape.rows : inner)));
  return SetColumnMajor(context, 2, a->dtype,
                        shape.With(full ? shape.columns : inner, shape.columns));
}

absl::Status MatrixExpMeta(MetaContext& context, const MatrixExpCall<MetaArguments>& call) {
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  context.SetTensor(0, call.a->dtype, call.a->sizes);
  return absl::OkStatus();
}

constexpr Tolerance kFactor = {1e-4, 1e-5};

constexpr OpDef kRows[] = {
    {.schema = "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) "
               "-> (Tensor LU, Tensor pivots, Tensor info)",
     .meta = &MetaKernel<&LuFactorMeta>,
     .tolerance = kFactor},
    {.schema = "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
               "adjoint=False) -> Tensor",
     .meta = &MetaKernel<&SolveMeta<LuSolveCall<MetaArguments>>>,
     .tolerance = kFactor},
    {.schema = "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool "
               "left=True, bool unitriangular=False) -> Tensor",
     .meta = &MetaKernel<&SolveMeta<TriangularCall<MetaArguments>>>,
     .tolerance = kFactor},
    {.schema = "aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)",
     .meta = &MetaKernel<&QrMeta>,
     .tolerance = kFactor},
    {.schema = "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor "
               "eigenvalues, Tensor eigenvectors)",
     .meta = &MetaKernel<&EighMeta>,
     .tolerance = kFactor},
    {.schema = "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, "
               "str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
     .meta = &MetaKernel<&SvdMeta>,
     .tolerance = kFactor},
    {.schema = "aten::linalg_matrix_exp(Tensor self) -> Tensor",
     .meta = &MetaKernel<&MatrixExpMeta>,
     .tolerance = kFactor},
};

}  // namespace

absl::Span<const OpDef> MatrixAlgebraOps() { return kRows; }

}  // namespace belay::exir
