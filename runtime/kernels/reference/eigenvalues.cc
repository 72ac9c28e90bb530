// Eigenvalues and singular values, in double precision and in the order of LAPACK
// (symmetric_eigen.h, Jacobi rotations).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "runtime/core/budget.h"
#include "runtime/core/status_macros.h"
#include "runtime/core/str_cat.h"
#include "runtime/kernel_interface/kernel_arguments.h"
#include "runtime/kernel_interface/shape_rules/factorization.h"
#include "runtime/kernels/operands/element_access.h"
#include "runtime/kernels/operands/operands.h"
#include "runtime/kernels/reference/batched_matrices.h"
#include "runtime/kernels/reference/families.h"
#include "runtime/kernels/reference/symmetric_eigen.h"

namespace belay {
namespace {

// Rotations converge quadratically; each sweep visits all pairs of columns.
constexpr int kMostSweeps = 60;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Rotation that zeros the off-diagonal element of [[p, x], [x, q]].
struct Rotation {
  double c = 1, s = 0;
};
Rotation Diagonalizing(double p, double x, double q) {
  if (x == 0) return {};
  const double zeta = (q - p) / (2 * x);
  const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
  const double c = 1 / std::hypot(1.0, t);
  return {c, c * t};
}
void RotateRows(const Matrix<double>& m, int64_t i, int64_t k, Rotation r) {
  double* const __restrict a = &m(i, 0);
  double* const __restrict b = &m(k, 0);
  for (int64_t column = 0; column < m.columns; ++column) {
    const double x = a[column], y = b[column];
    a[column] = r.c * x - r.s * y;
    b[column] = r.s * x + r.c * y;
  }
}

// Selection sort, so that before(i, k) holds for all i < k.
template <class Before, class Swap>
void Order(int64_t n, Before&& before, Swap&& swap) {
  for (int64_t i = 0; i + 1 < n; ++i) {
    int64_t best = i;
    for (int64_t k = i + 1; k < n; ++k) {
      if (before(k, best)) best = k;
    }
    if (best != i) swap(i, best);
  }
}
void SwapRows(const Matrix<double>& m, int64_t i, int64_t k) {
  std::swap_ranges(&m(i, 0), &m(i, 0) + m.columns, &m(k, 0));
}

uint64_t EighScratch(const KernelContext& context, const EighCall<KernelArguments>& call) {
  if (call.a->rank() < 2) return 0;
  const CheckedInt n = call.a->sizes.back();
  return ScratchBytesOf<double>(n * n * 2 + n + SymmetricEigenWork(n));
}

absl::Status Eigh(KernelContext& context, const EighCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  const bool upper = call.upper, vectors = call.vectors;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> values_of, call.Shape());
  const int rank = a->rank();
  const int64_t n = a->sizes[rank - 1];
  ABSL_ASSIGN_OR_RETURN(const TensorView* values, OutputOf(context, 0, a->dtype, values_of));
  const Dims<CheckedInt> empty = {CheckedInt(0)};
  ABSL_ASSIGN_OR_RETURN(const TensorView* out,
                        OutputOf(context, 1, a->dtype, vectors ? ToDims(a->sizes) : empty));
  if (values->numel() == 0) return absl::OkStatus();  // any number of matrices
  ABSL_ASSIGN_OR_RETURN(
      double* const memory,
      ScratchArray<double>(context, CheckedInt(n) * n * 2 + n + SymmetricEigenWork(CheckedInt(n))));
  const Matrix<double> m = {memory, n, n}, rows = {memory + n * n, n, n};
  double *const found = memory + 2 * n * n, *const work = found + n;
  for (int64_t item = 0; item < BatchCount(*a, rank - 2); ++item) {
    Load(*a, item, m);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        if (upper ? k < i : k > i) m(i, k) = m(k, i);
      }
    }
    SymmetricEigen(m.data, n, found, vectors ? rows.data : nullptr, work);
    Order(
        n, [&](int64_t i, int64_t k) { return found[i] < found[k]; },
        [&](int64_t i, int64_t k) {
          std::swap(found[i], found[k]);
          if (vectors) SwapRows(rows, i, k);
        });
    StoreVector<double>(*values, item, [&](int64_t i) { return found[i]; });
    if (vectors) Store<double>(*out, item, [&](int64_t i, int64_t k) { return rows(k, i); });
  }
  return absl::OkStatus();
}

// Replaces column `k` by a unit vector orthogonal to the columns before it. The vector is the
// projection of the first axis from `axis` on that is far enough from their span; `axis` advances
// past it. Rejected axes are (nearly) in the span and stay there as columns are added: all columns
// of a matrix together cost O(rows^3).
void CompleteColumn(const Matrix<double>& m, int64_t k, int64_t& axis) {
  while (axis < m.rows) {
    const int64_t tried = axis++;
    for (int64_t i = 0; i < m.rows; ++i) m(i, k) = i == tried ? 1 : 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < k; ++j) {
        double dot = 0;
        for (int64_t i = 0; i < m.rows; ++i) dot += m(i, j) * m(i, k);
        for (int64_t i = 0; i < m.rows; ++i) m(i, k) -= dot * m(i, j);
      }
    }
    double norm = 0;
    for (int64_t i = 0; i < m.rows; ++i) norm = std::hypot(norm, m(i, k));
    // For any subspace of fewer dimensions, at least one axis has this distance.
    if (norm * norm * static_cast<double>(m.rows) < 0.5) continue;
    for (int64_t i = 0; i < m.rows; ++i) m(i, k) /= norm;
    return;
  }
}

// w = v w, by means of a copy of w in `room`.
void MultiplyRows(const Matrix<double>& v, const Matrix<double>& w, double* room) {
  std::copy_n(w.data, w.rows * w.columns, room);
  Budget::Pace pace;
  for (int64_t i = 0; i < w.rows; ++i) {
    if (pace.Stop(w.rows * w.columns)) return;
    double* const __restrict to = &w(i, 0);
    std::fill_n(to, w.columns, 0.0);
    for (int64_t j = 0; j < w.rows; ++j) {
      const double factor = v(i, j);
      const double* const __restrict from = room + j * w.columns;
      for (int64_t k = 0; k < w.columns; ++k) to[k] += factor * from[k];
    }
  }
}

// Doubles for matrices of `tall` rows and n columns.
CheckedInt SvdDoubles(CheckedInt tall, CheckedInt n) {
  return tall * n + tall * tall + n * n + n + SymmetricEigenWork(n);
}
uint64_t SvdScratch(const KernelContext& context, const SvdCall<KernelArguments>& call) {
  const int rank = call.a->rank();
  if (rank < 2) return 0;
  const int64_t rows = call.a->sizes[rank - 2], columns = call.a->sizes[rank - 1];
  return ScratchBytesOf<double>(SvdDoubles(std::max(rows, columns), std::min(rows, columns)));
}

// One-sided Jacobi rotations: they make the columns of W = A V orthogonal, so that their lengths are the singular
// values. They begin with the eigenvectors of A^T A as V, for which W is nearly so.
absl::Status Svd(KernelContext& context, const SvdCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  const bool full = call.full_matrices, vectors = call.vectors;
  ABSL_ASSIGN_OR_RETURN(const MatrixShape<CheckedInt> shape, call.Shape());
  const CheckedInt inner = SymMin(shape.rows, shape.columns);
  const Dims<CheckedInt> empty = {CheckedInt(0)};
  ABSL_ASSIGN_OR_RETURN(
      const TensorView* u_out,
      OutputOf(context, 0, a->dtype,
               vectors ? shape.With(shape.rows, full ? shape.rows : inner) : empty));
  ABSL_ASSIGN_OR_RETURN(const TensorView* values,
                        OutputOf(context, 1, a->dtype, shape.With(inner)));
  ABSL_ASSIGN_OR_RETURN(
      const TensorView* v_out,
      OutputOf(context, 2, a->dtype,
               vectors ? shape.With(full ? shape.columns : inner, shape.columns) : empty));
  if (u_out->numel() == 0 && values->numel() == 0 && v_out->numel() == 0) return absl::OkStatus();
  const int rank = a->rank();
  // Uses the transposed matrix if it has more columns than rows.
  const bool wide = a->sizes[rank - 1] > a->sizes[rank - 2];
  const int64_t tall = a->sizes[wide ? rank - 1 : rank - 2];
  const int64_t n = a->sizes[wide ? rank - 2 : rank - 1];
  ABSL_ASSIGN_OR_RETURN(double* const memory,
                        ScratchArray<double>(context, SvdDoubles(CheckedInt(tall), n)));
  const Matrix<double> w = {memory, n, tall};  // becomes (U S)^T
  const Matrix<double> u = {memory + tall * n, tall, tall};
  const Matrix<double> gram = {u.data, n, n};
  const Matrix<double> v = {memory + tall * n + tall * tall, n, n};  // V^T
  double* const s = memory + tall * n + tall * tall + n * n;
  const Matrix<double> loaded = {u.data, a->sizes[rank - 2], a->sizes[rank - 1]};
  Budget::Pace pace;
  for (int64_t item = 0; item < BatchCount(*a, rank - 2); ++item) {
    Load(*a, item, loaded);
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t i = 0; i < tall; ++i) w(k, i) = wide ? loaded(k, i) : loaded(i, k);
    }
    // A power of two as scale keeps squares from overflow and underflow.
    double most = 0;
    for (int64_t i = 0; i < n * tall; ++i) most = std::max(most, std::abs(w.data[i]));
    const int exponent =
        std::isfinite(most) && most > 0 ? std::clamp(std::ilogb(most), -1000, 1000) : 0;
    const double scale = std::ldexp(1.0, -exponent);
    for (int64_t i = 0; i < n * tall; ++i) w.data[i] *= scale;
    if (pace.Stop(2 * n * n * tall)) return absl::OkStatus();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k <= i; ++k) {
        gram(i, k) = gram(k, i) = Dot(&w(i, 0), &w(k, 0), tall);
      }
    }
    SymmetricEigen(gram.data, n, s, v.data, s + n);
    MultiplyRows(v, w, u.data);
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < kMostSweeps; ++sweep) {
      rotated = false;
      for (int64_t k = 0; k < n; ++k) s[k] = Dot(&w(k, 0), &w(k, 0), tall);
      for (int64_t i = 0; i < n; ++i) {
        if (pace.Stop(3 * (n - i) * tall)) return absl::OkStatus();
        for (int64_t k = i + 1; k < n; ++k) {
          const double x = Dot(&w(i, 0), &w(k, 0), tall);
          if (!(std::abs(x) > kEpsilon * std::sqrt(s[i] * s[k]))) continue;
          const Rotation rotation = Diagonalizing(s[i], x, s[k]);
          if (rotation.s == 0) continue;
          rotated = true;
          RotateRows(w, i, k, rotation);
          RotateRows(v, i, k, rotation);
          s[i] = Dot(&w(i, 0), &w(i, 0), tall);
          s[k] = Dot(&w(k, 0), &w(k, 0), tall);
        }
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      s[k] = 0;
      for (int64_t i = 0; i < tall; ++i) s[k] = std::hypot(s[k], w(k, i));
    }
    Order(
        n, [&](int64_t i, int64_t k) { return s[i] > s[k]; },
        [&](int64_t i, int64_t k) {
          std::swap(s[i], s[k]);
          SwapRows(w, i, k);
          SwapRows(v, i, k);
        });
    const double original = std::ldexp(1.0, exponent);
    StoreVector<double>(*values, item, [&](int64_t i) { return s[i] * original; });
    if (!vectors) continue;
    int64_t axis = 0;
    for (int64_t k = 0; k < (full ? tall : n); ++k) {
      if (k < n && s[k] > s[0] * kEpsilon * static_cast<double>(tall)) {
        for (int64_t i = 0; i < tall; ++i) u(i, k) = w(k, i) / s[k];
      } else {
        if (pace.Stop(4 * (k + 1) * tall)) return absl::OkStatus();
        CompleteColumn(u, k, axis);
      }
    }
    Store<double>(*u_out, item, [&](int64_t i, int64_t k) { return wide ? v(k, i) : u(i, k); });
    Store<double>(*v_out, item, [&](int64_t i, int64_t k) { return wide ? u(k, i) : v(i, k); });
  }
  return absl::OkStatus();
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&Eigh, nullptr, &EighScratch>("aten._linalg_eigh.default", "A UPLO compute_v -> 2",
                                            "Eigh", kReference),
    KernelRow<&Svd, nullptr, &SvdScratch>(
        "aten._linalg_svd.default", "A full_matrices compute_uv driver -> 3", "Svd", kReference),
};

}  // namespace

absl::Span<const Kernel> EigenvaluesKernels() { return kKernels; }

}  // namespace belay
