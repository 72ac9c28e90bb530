// Eigenvalues and eigenvectors of symmetric matrices.
#ifndef BELAY_RUNTIME_KERNELS_REFERENCE_SYMMETRIC_EIGEN_H_
#define BELAY_RUNTIME_KERNELS_REFERENCE_SYMMETRIC_EIGEN_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/core/budget.h"

namespace belay {

inline constexpr double kQlEpsilon = std::numeric_limits<double>::epsilon();
inline constexpr int kMostQlSteps = 60;  // per eigenvalue; two or three are usual

inline double Dot(const double* __restrict a, const double* __restrict b, int64_t n) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) lanes[0] += a[i] * b[i];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

// y += factor * x.
inline void AddScaled(const double* __restrict x, double factor, int64_t n, double* __restrict y) {
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// Turns x into v with v[0] = 1, for which H = I - tau v v^T maps x to (alpha, 0, …). Returns tau.
inline double Reflector(double* x, int64_t n, double* alpha) {
  const double norm = std::sqrt(Dot(x, x, n));
  *alpha = x[0] > 0 ? -norm : norm;
  const double rest = n == 1 ? 0 : Dot(x + 1, x + 1, n - 1);
  if (rest == 0) {  // already of that form
    *alpha = x[0];
    std::fill_n(x, n, 0.0);
    return 0;
  }
  const double first = x[0] - *alpha;
  for (int64_t i = 1; i < n; ++i) x[i] /= first;
  x[0] = 1;
  return -first / *alpha;
}

// Reduces m to the tridiagonal matrix with `diagonal` and `beside`: beside[k] is element (k, k + 1). The
// reflectors stay in m: that of step k in row k, from column k + 1 on, and its factor in `factors`.
inline void Tridiagonalize(double* m, int64_t n, double* diagonal, double* beside, double* factors,
                           double* product, Budget::Pace& pace) {
  for (int64_t k = 0; k + 1 < n; ++k) {
    const int64_t size = n - k - 1;
    if (pace.Stop(2 * size * size)) return;
    diagonal[k] = m[k * n + k];
    double* const v = m + k * n + k + 1;
    const double tau = factors[k] = Reflector(v, size, &beside[k]);
    if (tau == 0) continue;
    // The rest B becomes H B H = B - v w^T - w v^T with w = tau (B v - tau / 2 (v^T B v) v).
    double* const rest = m + (k + 1) * n + k + 1;
    for (int64_t i = 0; i < size; ++i) product[i] = tau * Dot(rest + i * n, v, size);
    AddScaled(v, -0.5 * tau * Dot(product, v, size), size, product);
    for (int64_t i = 0; i < size; ++i) {
      double* __restrict const row = rest + i * n;
      const double a = v[i], b = product[i];
      for (int64_t j = 0; j < size; ++j) row[j] -= a * product[j] + b * v[j];
    }
  }
  diagonal[n - 1] = m[n * n - 1];
  beside[n - 1] = 0;
}

// rows = (H_0 H_1 …)^T: row i of the result is row i of the identity, multiplied by the reflectors.
inline void AccumulateReflectors(const double* m, int64_t n, const double* factors, double* rows,
                                 Budget::Pace& pace) {
  std::fill_n(rows, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) rows[i * n + i] = 1;
  for (int64_t k = n - 2; k >= 0; --k) {
    const int64_t size = n - k - 1;
    if (pace.Stop(2 * size * size)) return;
    if (factors[k] == 0) continue;
    const double* const v = m + k * n + k + 1;
    // The rows before are still those of the identity.
    for (int64_t i = k + 1; i < n; ++i) {
      double* const row = rows + i * n + k + 1;
      AddScaled(v, -factors[k] * Dot(row, v, size), size, row);
    }
  }
}

// (x, y) = (c x - s y, s x + c y).
inline void Rotate(double* __restrict x, double* __restrict y, int64_t n, double c, double s) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

// One QL step on the unreduced part [first, last] of the tridiagonal matrix.
inline void StepQl(double* d, double* e, int64_t first, int64_t last, double* rows, int64_t n) {
  // The eigenvalue of the leading 2 x 2 matrix that is nearer to d[first].
  const double half = (d[first + 1] - d[first]) / (2 * e[first]);
  const double shift = d[first] - e[first] / (half + std::copysign(std::hypot(half, 1.0), half));
  double g = d[last] - shift, s = 1, c = 1, p = 0;
  for (int64_t i = last - 1; i >= first; --i) {
    const double f = s * e[i], b = c * e[i], r = std::sqrt(f * f + g * g);
    e[i + 1] = r;
    if (r == 0) {  // the matrix falls apart: an eigenvalue is d[i + 1] - p
      d[i + 1] -= p;
      e[last] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    const double t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
    if (rows != nullptr) Rotate(rows + i * n, rows + (i + 1) * n, n, c, s);
  }
  d[first] -= p;
  e[first] = g;
  e[last] = 0;
}

// Doubles of `work` for a matrix of order n.
template <class Int>
constexpr Int SymmetricEigenWork(Int n) {
  return n * 3;
}

// Computes the eigenvalues of the row-major symmetric matrix m [n, n], which is overwritten, and, if `rows` is
// not null, its eigenvectors: row i of rows [n, n] belongs to values[i]. The order is not specified.
//
// Householder reflections make the matrix tridiagonal; the QL algorithm with implicit shifts makes that
// diagonal (Golub and Van Loan, "Matrix Computations", 4th edition, §8.3). Errors of the eigenvalues are
// at most a small multiple of n * 2^-53 times the largest one. Stops when the budget is used up, and after
// a fixed number of steps: NaN and infinities give unspecified values. Cost: 4/3 n^3, with eigenvectors 9 n^3.
inline void SymmetricEigen(double* m, int64_t n, double* values, double* rows, double* work) {
  if (n == 0) return;
  // A power of two as scale keeps squares from overflow and underflow.
  double most = 0;
  for (int64_t i = 0; i < n * n; ++i) most = std::max(most, std::abs(m[i]));
  const int exponent =
      std::isfinite(most) && most > 0 ? std::clamp(std::ilogb(most), -1000, 1000) : 0;
  const double scale = std::ldexp(1.0, -exponent), original = std::ldexp(1.0, exponent);
  for (int64_t i = 0; i < n * n; ++i) m[i] *= scale;
  double *const beside = work, *const factors = work + n, *const product = work + 2 * n;
  std::fill_n(values, n, 0.0);
  std::fill_n(work, 2 * n, 0.0);
  Budget::Pace pace;
  Tridiagonalize(m, n, values, beside, factors, product, pace);
  if (rows != nullptr) AccumulateReflectors(m, n, factors, rows, pace);
  for (int64_t first = 0; first < n; ++first) {
    for (int step = 0; step < kMostQlSteps; ++step) {
      int64_t last = first;
      while (last + 1 < n && std::abs(beside[last]) > kQlEpsilon * (std::abs(values[last]) +
                                                                    std::abs(values[last + 1]))) {
        ++last;
      }
      if (last == first || pace.Stop((last - first) * (rows == nullptr ? 16 : 4 * n))) break;
      StepQl(values, beside, first, last, rows, n);
    }
  }
  for (int64_t i = 0; i < n; ++i) values[i] *= original;
}

}  // namespace belay

#endif  // BELAY_RUNTIME_KERNELS_REFERENCE_SYMMETRIC_EIGEN_H_
