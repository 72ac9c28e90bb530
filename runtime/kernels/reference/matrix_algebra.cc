// Factorizations of matrices of any shape, linear systems and matrix functions, in double
// precision. Conventions are LAPACK's: row pivoting, signs of Householder reflections.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/factorization.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/batched_matrices.h"
#include "runtime/kernels/reference/factor_types.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Scratch bytes of `kCount` square complex matrices of the larger matrix dimension of `a`.
template <int kCount, class Call>
uint64_t Scratch(const KernelContext& context, const Call& call) {
  const int rank = call.a->rank();
  if (rank < 2) return 0;
  const CheckedInt n = std::max<int64_t>({call.a->sizes[rank - 1], call.a->sizes[rank - 2], 1});
  return ScratchBytesOf<std::complex<double>>(n * n * kCount);
}

// --- Elimination ---

// Replaces the matrix by its LU factors. Calls pivot(k, row) for the row that was exchanged with
// row k. Returns the first zero pivot, counted from 1.
template <class T, class Fn>
int64_t Factorize(const Matrix<T>& m, bool exchange, Fn&& pivot) {
  int64_t failed = 0;
  Budget::Pace pace;
  for (int64_t k = 0; k < std::min(m.rows, m.columns); ++k) {
    if (pace.Stop((m.rows - k) * (m.columns - k))) return failed;
    int64_t best = k;
    for (int64_t i = k + 1; exchange && i < m.rows; ++i) {
      if (PivotSize(m(i, k)) > PivotSize(m(best, k))) best = i;
    }
    pivot(k, best);
    for (int64_t j = 0; best != k && j < m.columns; ++j) std::swap(m(k, j), m(best, j));
    if (m(k, k) == T(0)) {
      if (failed == 0) failed = k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < m.rows; ++i) {
      const T factor = m(i, k) /= m(k, k);
      if (factor == T(0)) continue;
      for (int64_t j = k + 1; j < m.columns; ++j) m(i, j) -= factor * m(k, j);
    }
  }
  return failed;
}

absl::Status LuFactor(KernelContext& context, const LuFactorCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  const bool exchange = call.pivot, check_errors = call.check_errors;
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<CheckedInt> shape, call.Shape());
  ABSL_ASSIGN_OR_RETURN(const TensorView* lu, OutputOf(context, 0, a->dtype, *a));
  ABSL_ASSIGN_OR_RETURN(
      const TensorView* pivots,
      OutputOf(context, 1, DType::kInt32, shape.With(SymMin(shape.rows, shape.columns))));
  ABSL_ASSIGN_OR_RETURN(const TensorView* info, OutputOf(context, 2, DType::kInt32, shape.batch));
  const int rank = a->rank();
  if (a->numel() == 0) {  // no steps for matrices without elements, whatever their number of rows
    FillZero(*info);
    return absl::OkStatus();
  }
  return WithFactorType(a->dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const int64_t rows = a->sizes[rank - 2], columns = a->sizes[rank - 1];
    ABSL_ASSIGN_OR_RETURN(T* const memory, ScratchArray<T>(context, CheckedInt(rows) * columns));
    const Matrix<T> m = {memory, rows, columns};
    const Writer<int64_t> write_pivot(*pivots), write_info(*info);
    for (int64_t item = 0; item < BatchCount(*a, rank - 2); ++item) {
      Load(*a, item, m);
      const int64_t pivots_at = BatchOffset(*pivots, rank - 2, item);
      const int64_t failed = Factorize(m, exchange, [&](int64_t k, int64_t row) {
        write_pivot(pivots_at + k * pivots->strides[rank - 2], row + 1);
      });
      if (failed != 0 && check_errors) {
        return absl::InvalidArgumentError(
            absl::StrCat("the matrix is singular: element ", failed, " of U's diagonal is zero"));
      }
      write_info(BatchOffset(*info, rank - 2, item), failed);
      Store<T>(*lu, item, [&](int64_t i, int64_t k) { return m(i, k); });
    }
    return absl::OkStatus();
  });
}

// Solves M x = b for a triangular M with elements at(i, k); x holds b on entry.
template <class T, class Fn>
void SolveTriangle(int64_t n, bool upper, bool unit, Fn&& at, T* x) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = upper ? n - 1 - step : step;
    T sum = x[i];
    for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); ++k) sum -= at(i, k) * x[k];
    x[i] = unit ? sum : sum / at(i, i);
  }
}

absl::Status SolveTriangular(KernelContext& context, const TriangularCall<KernelArguments>& call) {
  const TensorView *const a = call.a, *const b = call.b;
  const bool upper = call.upper, left = call.left, unit = call.unitriangular;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, b->dtype, *b));
  if (out->numel() == 0) return absl::OkStatus();  // any number of systems
  const int rank = a->rank();
  return WithFactorType(a->dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const int64_t n = a->sizes[rank - 1];
    ABSL_ASSIGN_OR_RETURN(T* const memory, ScratchArray<T>(context, CheckedInt(n) * n + n));
    const Matrix<T> m = {memory, n, n};
    T* const x = memory + n * n;
    const Reader<T> read(*b);
    const Writer<T> write(*out);
    // The unknowns of one system are along `down`.
    const int down = left ? rank - 2 : rank - 1, across = left ? rank - 1 : rank - 2;
    Budget::Pace pace;
    for (int64_t item = 0; item < BatchCount(*a, rank - 2); ++item) {
      Load(*a, item, m);
      const int64_t from = BatchOffset(*b, rank - 2, item), to = BatchOffset(*out, rank - 2, item);
      for (int64_t column = 0; column < b->sizes[across]; ++column) {
        for (int64_t i = 0; i < n; ++i) {
          x[i] = read(from + column * b->strides[across] + i * b->strides[down]);
        }
        if (pace.Stop(n * n)) return absl::OkStatus();
        // x M = b is solved as Mᵀ xᵀ = bᵀ.
        SolveTriangle(
            n, upper == left, unit, [&](int64_t i, int64_t k) { return left ? m(i, k) : m(k, i); },
            x);
        for (int64_t i = 0; i < n; ++i) {
          write(to + column * out->strides[across] + i * out->strides[down], x[i]);
        }
      }
    }
    return absl::OkStatus();
  });
}

absl::Status LuSolve(KernelContext& context, const LuSolveCall<KernelArguments>& call) {
  const TensorView *const lu = call.a, *const pivots = call.pivots, *const b = call.b;
  const bool left = call.left, adjoint = call.adjoint;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, b->dtype, *b));
  if (out->numel() == 0) return absl::OkStatus();  // any number of systems
  const int rank = lu->rank();
  return WithFactorType(lu->dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const int64_t n = lu->sizes[rank - 1];
    ABSL_ASSIGN_OR_RETURN(T* const memory, ScratchArray<T>(context, CheckedInt(n) * n + n));
    const Matrix<T> m = {memory, n, n};
    T* const x = memory + n * n;
    const Reader<T> read(*b);
    const Reader<int64_t> read_pivot(*pivots);
    const Writer<T> write(*out);
    const int down = left ? rank - 2 : rank - 1, across = left ? rank - 1 : rank - 2;
    // With the unknowns on the left, the transposed system is solved. An adjoint system is then
    // conjugated.
    const bool transposed = adjoint == left;
    const bool conjugated = adjoint;
    const auto value = [&](T v) { return conjugated ? Conjugate(v) : v; };
    Budget::Pace pace;
    for (int64_t item = 0; item < BatchCount(*lu, rank - 2); ++item) {
      Load(*lu, item, m);
      const int64_t from = BatchOffset(*b, rank - 2, item), to = BatchOffset(*out, rank - 2, item);
      const int64_t pivots_at = BatchOffset(*pivots, rank - 2, item);
      const auto exchange = [&](int64_t k) -> absl::Status {
        const int64_t row = read_pivot(pivots_at + k * pivots->strides[rank - 2]) - 1;
        if (row < 0 || row >= n) {
          return absl::InvalidArgumentError(
              absl::StrCat("pivots: expected a row from 1 to ", n, ", got ", row + 1));
        }
        std::swap(x[k], x[row]);
        return absl::OkStatus();
      };
      for (int64_t column = 0; column < b->sizes[across]; ++column) {
        for (int64_t i = 0; i < n; ++i) {
          x[i] = read(from + column * b->strides[across] + i * b->strides[down]);
        }
        if (pace.Stop(2 * n * n)) return absl::OkStatus();
        if (!transposed) {
          for (int64_t k = 0; k < n; ++k) ABSL_RETURN_IF_ERROR(exchange(k));
          const auto at = [&](int64_t i, int64_t k) { return value(m(i, k)); };
          SolveTriangle(n, /*upper=*/false, /*unit=*/true, at, x);
          SolveTriangle(n, /*upper=*/true, /*unit=*/false, at, x);
        } else {
          const auto at = [&](int64_t i, int64_t k) { return value(m(k, i)); };
          SolveTriangle(n, /*upper=*/false, /*unit=*/false, at, x);
          SolveTriangle(n, /*upper=*/true, /*unit=*/true, at, x);
          for (int64_t k = n; k-- > 0;) ABSL_RETURN_IF_ERROR(exchange(k));
        }
        for (int64_t i = 0; i < n; ++i) {
          write(to + column * out->strides[across] + i * out->strides[down], x[i]);
        }
      }
    }
    return absl::OkStatus();
  });
}

// --- Reflections ---

absl::Status Qr(KernelContext& context, const QrCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  const QrMode mode = call.mode;
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<CheckedInt> shape, call.Shape());
  const CheckedInt inner =
      mode == QrMode::kComplete ? shape.rows : SymMin(shape.rows, shape.columns);
  const bool wants_q = mode != QrMode::kOnlyR;
  const Dims<CheckedInt> empty = {CheckedInt(0)};
  ABSL_ASSIGN_OR_RETURN(
      const TensorView* q_out,
      OutputOf(context, 0, a->dtype, wants_q ? shape.With(shape.rows, inner) : empty));
  ABSL_ASSIGN_OR_RETURN(const TensorView* r_out,
                        OutputOf(context, 1, a->dtype, shape.With(inner, shape.columns)));
  if (q_out->numel() == 0 && r_out->numel() == 0) return absl::OkStatus();
  const int rank = a->rank();
  const int64_t rows = a->sizes[rank - 2], columns = a->sizes[rank - 1];
  const int64_t steps = std::min(rows, columns);
  ABSL_ASSIGN_OR_RETURN(
      double* const memory,
      ScratchArray<double>(context, CheckedInt(rows) * columns + CheckedInt(rows) * rows + rows));
  const Matrix<double> r = {memory, rows, columns}, q = {memory + rows * columns, rows, rows};
  double* const v = memory + rows * columns + rows * rows;
  Budget::Pace pace;
  for (int64_t item = 0; item < BatchCount(*a, rank - 2); ++item) {
    Load(*a, item, r);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < rows; ++k) q(i, k) = i == k ? 1 : 0;
    }
    for (int64_t k = 0; k < steps; ++k) {
      if (pace.Stop(2 * (rows - k) * (columns + rows))) return absl::OkStatus();
      double below = 0;
      for (int64_t i = k + 1; i < rows; ++i) below = std::hypot(below, r(i, k));
      if (below == 0) continue;
      const double alpha = r(k, k), beta = -std::copysign(std::hypot(alpha, below), alpha);
      const double tau = (beta - alpha) / beta;
      v[k] = 1;
      for (int64_t i = k + 1; i < rows; ++i) v[i] = r(i, k) / (alpha - beta);
      const auto reflect_rows = [&](const Matrix<double>& m, int64_t first) {
        for (int64_t j = first; j < m.columns; ++j) {
          double sum = 0;
          for (int64_t i = k; i < rows; ++i) sum += v[i] * m(i, j);
          for (int64_t i = k; i < rows; ++i) m(i, j) -= tau * v[i] * sum;
        }
      };
      reflect_rows(r, k);
      for (int64_t i = k + 1; i < rows; ++i) r(i, k) = 0;
      if (!wants_q) continue;
      // Q := Q H
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t j = k; j < rows; ++j) sum += q(i, j) * v[j];
        for (int64_t j = k; j < rows; ++j) q(i, j) -= tau * sum * v[j];
      }
    }
    if (wants_q) Store<double>(*q_out, item, [&](int64_t i, int64_t k) { return q(i, k); });
    Store<double>(*r_out, item, [&](int64_t i, int64_t k) { return k < i ? 0.0 : r(i, k); });
  }
  return absl::OkStatus();
}

// --- Functions of matrices ---

void Multiply(const Matrix<double>& x, const Matrix<double>& y, const Matrix<double>& out) {
  Budget::Pace pace;
  for (int64_t i = 0; i < x.rows; ++i) {
    if (pace.Stop(x.columns * y.columns)) return;
    for (int64_t k = 0; k < y.columns; ++k) out(i, k) = 0;
    for (int64_t j = 0; j < x.columns; ++j) {
      const double factor = x(i, j);
      if (factor == 0) continue;
      for (int64_t k = 0; k < y.columns; ++k) out(i, k) += factor * y(j, k);
    }
  }
}

// Taylor series of the matrix scaled by a power of two, then repeated squaring.
absl::Status MatrixExp(KernelContext& context, const MatrixExpCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  ABSL_RETURN_IF_ERROR(call.CheckShapes());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a->dtype, *a));
  if (out->numel() == 0) return absl::OkStatus();
  const int rank = a->rank();
  const int64_t n = a->sizes[rank - 1];
  ABSL_ASSIGN_OR_RETURN(double* const memory, ScratchArray<double>(context, CheckedInt(n) * n * 4));
  const Matrix<double> m = {memory, n, n};
  for (int64_t item = 0; item < BatchCount(*a, rank - 2); ++item) {
    Matrix<double> sum = {memory + n * n, n, n}, term = {memory + 2 * n * n, n, n},
                   next = {memory + 3 * n * n, n, n};
    Load(*a, item, m);
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) {
      double row = 0;
      for (int64_t k = 0; k < n; ++k) row += std::abs(m(i, k));
      norm = std::max(norm, row);
    }
    int squarings = 0;
    if (std::isfinite(norm) && norm > 0.5) squarings = std::max(0, std::ilogb(norm) + 2);
    const double scale = std::ldexp(1.0, -squarings);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        m(i, k) *= scale;
        sum(i, k) = term(i, k) = i == k ? 1 : 0;
      }
    }
    constexpr int kTerms = 18;  // 0.5^18 / 18! is far below the precision of double
    for (int order = 1; order <= kTerms; ++order) {
      Multiply(term, m, next);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n; ++k) sum(i, k) += next(i, k) /= order;
      }
      std::swap(term, next);
    }
    for (int i = 0; i < squarings; ++i) {
      Multiply(sum, sum, next);
      std::swap(sum, next);
    }
    Store<double>(*out, item, [&](int64_t i, int64_t k) { return sum(i, k); });
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&LuFactor, nullptr, &Scratch<1, LuFactorCall<KernelArguments>>>(
        "aten.linalg_lu_factor_ex.default", "A pivot check_errors -> 3", "LuFactor", kReference),
    KernelRow<&LuSolve, nullptr, &Scratch<2, LuSolveCall<KernelArguments>>>(
        "aten.linalg_lu_solve.default", "LU pivots B left adjoint", "LuSolve", kReference),
    KernelRow<&MatrixExp, nullptr, &Scratch<2, MatrixExpCall<KernelArguments>>>(
        "aten.linalg_matrix_exp.default", "self", "MatrixExp", kReference),
    KernelRow<&Qr, nullptr, &Scratch<2, QrCall<KernelArguments>>>("aten.linalg_qr.default",
                                                                  "A mode -> 2", "Qr", kReference),
    KernelRow<&SolveTriangular, nullptr, &Scratch<2, TriangularCall<KernelArguments>>>(
        "aten.linalg_solve_triangular.default", "self B upper left unitriangular",
        "SolveTriangular", kReference),
};

}  // namespace

absl::Span<const Kernel> MatrixAlgebraKernels() { return kKernels; }

}  // namespace belay
