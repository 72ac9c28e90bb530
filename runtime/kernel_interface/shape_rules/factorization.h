// Shape rules of matrix factorizations and linear solvers.
#ifndef BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_FACTORIZATION_H_
#define BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_FACTORIZATION_H_

#include <cstdint>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/kernel_interface/shape_rules/strided.h"

namespace belay {

// Batches of square matrices [...,n,n]. Returns the batch dimensions.
template <class D>
absl::StatusOr<Dims<D>> SquareBatch(absl::Span<const D> dims) {
  const size_t rank = dims.size();
  if (rank < 2 || KnownDifferent(dims[rank - 1], dims[rank - 2])) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected square matrices, got shape ", FormatDims<D>(dims)));
  }
  Dims<D> batch;
  for (size_t d = 0; d + 2 < rank; ++d) batch.push_back(dims[d]);
  return batch;
}

// Batches of matrices [...,rows,columns].
template <class D>
struct MatrixShape {
  Dims<D> batch;
  D rows, columns;

  Dims<D> With(const D& last) const {
    Dims<D> dims = batch;
    dims.push_back(last);
    return dims;
  }
  Dims<D> With(const D& rows_of, const D& columns_of) const {
    Dims<D> dims = With(rows_of);
    dims.push_back(columns_of);
    return dims;
  }
};

template <class D>
absl::StatusOr<MatrixShape<D>> MatricesShape(absl::Span<const D> dims) {
  const size_t rank = dims.size();
  if (rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected matrices, got shape ", FormatDims<D>(dims)));
  }
  MatrixShape<D> shape{.batch = {}, .rows = dims[rank - 2], .columns = dims[rank - 1]};
  for (size_t d = 0; d + 2 < rank; ++d) shape.batch.push_back(dims[d]);
  return shape;
}

// Checks a linear system: the matrix is square, batches are equal, and the right-hand sides have as
// many rows as the matrix. For `left` == false (unknowns on the left) they have as many columns.
template <class D>
absl::Status CheckSystem(absl::Span<const D> matrix, absl::Span<const D> sides, bool left) {
  if (absl::StatusOr<Dims<D>> batch = SquareBatch<D>(matrix); !batch.ok()) return batch.status();
  bool fits = matrix.size() == sides.size();
  for (size_t d = 0; fits && d + 2 < matrix.size(); ++d) {
    fits = !KnownDifferent(matrix[d], sides[d]);
  }
  fits = fits && !KnownDifferent(matrix.back(), sides[sides.size() - (left ? 2 : 1)]);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a system of shape ", FormatDims<D>(matrix),
                                                 " does not fit right hand sides of shape ",
                                                 FormatDims<D>(sides)));
}

// Checks the pivots (row exchanges) of a square factorization: [...,n].
template <class D>
absl::Status CheckPivots(absl::Span<const D> matrix, absl::Span<const D> pivots) {
  bool fits = pivots.size() + 1 == matrix.size();
  for (size_t d = 0; fits && d < pivots.size(); ++d) fits = !KnownDifferent(matrix[d], pivots[d]);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("pivots of shape ", FormatDims<D>(pivots),
                                                 " do not belong to matrices of shape ",
                                                 FormatDims<D>(matrix)));
}

enum class QrMode : uint8_t { kReduced, kComplete, kOnlyR };

inline absl::StatusOr<QrMode> ParseQrMode(std::string_view mode) {
  if (mode == "reduced") return QrMode::kReduced;
  if (mode == "complete") return QrMode::kComplete;
  if (mode == "r") return QrMode::kOnlyR;
  return absl::InvalidArgumentError("mode: expected reduced, complete or r");
}

inline constexpr DTypeSet kFactorTypes = DTypeSet{DType::kFloat32, DType::kFloat64} | kComplexTypes;

// linalg_inv_ex, linalg_cholesky_ex, _linalg_det, of square matrices.
template <class Arguments>
struct FactorCall {
  typename Arguments::TensorRef a;
  bool upper = false;         // linalg_cholesky_ex: the triangle that is read and written
  bool check_errors = false;  // whether a matrix without such a factorization is an error

  static absl::StatusOr<FactorCall> Read(const Arguments& arguments) {
    FactorCall call;
    ABSL_ASSIGN_OR_RETURN(call.a,
                          arguments.Tensor(arguments.Has("A") ? "A" : "self", kFactorTypes));
    if (arguments.Has("upper")) {
      ABSL_ASSIGN_OR_RETURN(call.upper, arguments.Bool("upper"));
    }
    if (arguments.Has("check_errors")) {
      ABSL_ASSIGN_OR_RETURN(call.check_errors, arguments.Bool("check_errors"));
    }
    return call;
  }
  // Returns the batch dimensions.
  absl::StatusOr<Dims<typename Arguments::Dim>> Batch() const {
    return SquareBatch<typename Arguments::Dim>(Arguments::SizesOf(a));
  }
};

inline constexpr DTypeSet kRealFactorTypes = {DType::kFloat32, DType::kFloat64};

// linalg_lu_factor_ex.
template <class Arguments>
struct LuFactorCall {
  typename Arguments::TensorRef a;
  bool pivot = true;          // whether rows are exchanged
  bool check_errors = false;  // whether a pivot of zero is an error

  static absl::StatusOr<LuFactorCall> Read(const Arguments& arguments) {
    LuFactorCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("A", kFactorTypes));
    ABSL_ASSIGN_OR_RETURN(call.pivot, arguments.Bool("pivot"));
    ABSL_ASSIGN_OR_RETURN(call.check_errors, arguments.Bool("check_errors"));
    return call;
  }
  absl::StatusOr<MatrixShape<typename Arguments::Dim>> Shape() const {
    return MatricesShape<typename Arguments::Dim>(Arguments::SizesOf(a));
  }
};

// linalg_lu_solve; result shape is that of `b`.
template <class Arguments>
struct LuSolveCall {
  typename Arguments::TensorRef a, pivots, b;  // LU factors, pivots, right-hand sides
  bool left = true, adjoint = false;

  static absl::StatusOr<LuSolveCall> Read(const Arguments& arguments) {
    LuSolveCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("LU", kFactorTypes));
    ABSL_ASSIGN_OR_RETURN(call.pivots, arguments.Tensor("pivots", DTypeSet{DType::kInt32}));
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor("B", DTypeSet{call.a->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.left, arguments.Bool("left"));
    ABSL_ASSIGN_OR_RETURN(call.adjoint, arguments.Bool("adjoint"));
    return call;
  }
  absl::Status CheckShapes() const {
    using D = typename Arguments::Dim;
    ABSL_RETURN_IF_ERROR(CheckSystem<D>(Arguments::SizesOf(a), Arguments::SizesOf(b), left));
    return CheckPivots<D>(Arguments::SizesOf(a), Arguments::SizesOf(pivots));
  }
};

// linalg_solve_triangular; result shape is that of `b`.
template <class Arguments>
struct TriangularCall {
  typename Arguments::TensorRef a, b;
  bool upper = false, left = true, unitriangular = false;

  static absl::StatusOr<TriangularCall> Read(const Arguments& arguments) {
    TriangularCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("self", kFactorTypes));
    ABSL_ASSIGN_OR_RETURN(call.b, arguments.Tensor("B", DTypeSet{call.a->dtype}));
    ABSL_ASSIGN_OR_RETURN(call.upper, arguments.Bool("upper"));
    ABSL_ASSIGN_OR_RETURN(call.left, arguments.Bool("left"));
    ABSL_ASSIGN_OR_RETURN(call.unitriangular, arguments.Bool("unitriangular"));
    return call;
  }
  absl::Status CheckShapes() const {
    return CheckSystem<typename Arguments::Dim>(Arguments::SizesOf(a), Arguments::SizesOf(b), left);
  }
};

// linalg_qr.
template <class Arguments>
struct QrCall {
  typename Arguments::TensorRef a;
  QrMode mode = QrMode::kReduced;

  static absl::StatusOr<QrCall> Read(const Arguments& arguments) {
    QrCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("A", kRealFactorTypes));
    ABSL_ASSIGN_OR_RETURN(const auto mode, arguments.String("mode"));
    ABSL_ASSIGN_OR_RETURN(call.mode, ParseQrMode(mode));
    return call;
  }
  absl::StatusOr<MatrixShape<typename Arguments::Dim>> Shape() const {
    return MatricesShape<typename Arguments::Dim>(Arguments::SizesOf(a));
  }
};

// _linalg_eigh.
template <class Arguments>
struct EighCall {
  typename Arguments::TensorRef a;
  bool upper = false;  // the triangle that is read
  bool vectors = true;

  static absl::StatusOr<EighCall> Read(const Arguments& arguments) {
    EighCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("A", kRealFactorTypes));
    ABSL_ASSIGN_OR_RETURN(const auto triangle, arguments.String("UPLO"));
    call.upper = triangle == "U" || triangle == "u";
    if (!call.upper && triangle != "L" && triangle != "l") {
      return absl::InvalidArgumentError("UPLO: expected L or U");
    }
    ABSL_ASSIGN_OR_RETURN(call.vectors, arguments.Bool("compute_v"));
    return call;
  }
  // Returns the shape of the eigenvalues.
  absl::StatusOr<Dims<typename Arguments::Dim>> Shape() const {
    using D = typename Arguments::Dim;
    const auto& sizes = Arguments::SizesOf(a);
    ABSL_ASSIGN_OR_RETURN(Dims<D> values, SquareBatch<D>(sizes));
    values.push_back(sizes[sizes.size() - 1]);
    return values;
  }
};

// _linalg_svd.
template <class Arguments>
struct SvdCall {
  typename Arguments::TensorRef a;
  bool full_matrices = false, vectors = true;

  static absl::StatusOr<SvdCall> Read(const Arguments& arguments) {
    SvdCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("A", kRealFactorTypes));
    ABSL_ASSIGN_OR_RETURN(call.full_matrices, arguments.Bool("full_matrices"));
    ABSL_ASSIGN_OR_RETURN(call.vectors, arguments.Bool("compute_uv"));
    return call;
  }
  absl::StatusOr<MatrixShape<typename Arguments::Dim>> Shape() const {
    return MatricesShape<typename Arguments::Dim>(Arguments::SizesOf(a));
  }
};

// linalg_matrix_exp; result shape is the input's.
template <class Arguments>
struct MatrixExpCall {
  typename Arguments::TensorRef a;

  static absl::StatusOr<MatrixExpCall> Read(const Arguments& arguments) {
    MatrixExpCall call;
    ABSL_ASSIGN_OR_RETURN(call.a, arguments.Tensor("self", kRealFactorTypes));
    return call;
  }
  absl::Status CheckShapes() const {
    return SquareBatch<typename Arguments::Dim>(Arguments::SizesOf(a)).status();
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_INTERFACE_SHAPE_RULES_FACTORIZATION_H_
