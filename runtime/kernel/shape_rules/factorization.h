// Shapes of factorizations of matrices and of systems of equations.
#ifndef BELAY_RUNTIME_KERNEL_SHAPE_RULES_FACTORIZATION_H_
#define BELAY_RUNTIME_KERNEL_SHAPE_RULES_FACTORIZATION_H_

#include <cstdint>
#include <string_view>

#include "runtime/core/dtype.h"
#include "runtime/kernel/shape_rules/strided.h"

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

// A system of equations: the matrix is square, the right hand sides are as many rows (or columns
// when the unknowns stand on the left), batches are equal.
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

// The row exchanges of a square factorization: [...,n].
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

// linalg_inv_ex, linalg_cholesky_ex, _linalg_det: of square matrices.
template <class Arguments>
struct FactorCall {
  typename Arguments::TensorRef a;
  bool upper = false;         // linalg_cholesky_ex: the triangle that is read and written
  bool check_errors = false;  // whether a matrix without the factorization is an error

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
  // The batch dimensions.
  absl::StatusOr<Dims<typename Arguments::Dim>> Batch() const {
    return SquareBatch<typename Arguments::Dim>(Arguments::SizesOf(a));
  }
};

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNEL_SHAPE_RULES_FACTORIZATION_H_
