// Inverse, determinant and Cholesky factor of square matrices, in double precision.

#include <cmath>
#include <complex>
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
#include "runtime/kernels/reference/factor_types.h"
#include "runtime/kernels/reference/families.h"

namespace belay {
namespace {

// Layout of one matrix of a batch.
struct Place {
  int64_t offset = 0, row = 0, column = 0;
  int64_t operator()(int64_t i, int64_t k) const { return offset + i * row + k * column; }
};

// Iterates over the matrices of `a` and `b` and the elements of `c`: calls fn(place in a, place in
// b, offset in c). `c` begins with the batch dimensions.
template <class Fn>
absl::Status ForEachMatrix(const TensorView& a, const TensorView& b, const TensorView& c, Fn&& fn) {
  const int rank = a.rank();
  Sizes batch;
  Strides strides[3];
  for (int d = 0; d + 2 < rank; ++d) {
    batch.push_back(a.sizes[d]);
    strides[0].push_back(a.strides[d]);
    strides[1].push_back(b.strides[d]);
    strides[2].push_back(c.strides[d]);
  }
  for (StridedIterator<3> it(batch, {strides[0], strides[1], strides[2]}); !it.done(); it.Next()) {
    const Place in = {it.offset(0), a.strides[rank - 2], a.strides[rank - 1]};
    const Place out = {it.offset(1), b.strides[rank - 2], b.strides[rank - 1]};
    ABSL_RETURN_IF_ERROR(fn(in, out, it.offset(2)));
  }
  return absl::OkStatus();
}

// Two n x n matrices of the widest type.
uint64_t MatrixScratchBytes(const KernelContext& context, const FactorCall<KernelArguments>& call) {
  if (call.a->rank() < 2) return 0;
  const CheckedInt n = call.a->sizes.back();
  return ScratchBytesOf<std::complex<double>>(n * n * 2);
}

// Row of the largest element of column k, from row k on.
template <class T>
int64_t PivotRow(const T* m, int64_t n, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < n; ++i) {
    if (PivotSize(m[i * n + k]) > PivotSize(m[best * n + k])) best = i;
  }
  return best;
}

template <class T>
void SwapRows(T* m, int64_t n, int64_t i, int64_t k) {
  if (i == k) return;
  for (int64_t j = 0; j < n; ++j) std::swap(m[i * n + j], m[k * n + j]);
}

absl::Status Failed(int64_t info) {
  return absl::InvalidArgumentError(
      absl::StrCat("the matrix cannot be factorized: failed at order ", info));
}

// row -= factor * pivot_row.
template <class T>
void Eliminate(const T* __restrict pivot_row, T factor, int64_t n, T* __restrict row) {
  for (int64_t j = 0; j < n; ++j) row[j] -= factor * pivot_row[j];
}

// Gauss-Jordan elimination with row pivoting, in place: column k of the inverse replaces column k of
// the matrix, which elimination turns into a column of the identity. The info code is the first zero
// pivot, counted from 1.
absl::Status Inverse(KernelContext& context, const FactorCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> batch, call.Batch());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a->dtype, *a));
  ABSL_ASSIGN_OR_RETURN(const TensorView* info, OutputOf(context, 1, DType::kInt32, batch));
  const int64_t n = a->sizes.back();
  return WithFactorType(a->dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    ABSL_ASSIGN_OR_RETURN(T* const m, ScratchArray<T>(context, CheckedInt(n) * (n + 1)));
    // The result's column of each column: exchanged rows are exchanged columns of the inverse.
    T* const places = m + n * n;
    Budget::Pace pace;
    const Reader<T> read(*a);
    const Writer<T> write(*out);
    const Writer<int64_t> write_info(*info);
    return ForEachMatrix(*a, *out, *info, [&](Place in, Place to, int64_t info_at) {
      for (int64_t i = 0; i < n; ++i) {
        places[i] = T(static_cast<double>(i));
        for (int64_t k = 0; k < n; ++k) m[i * n + k] = read(in(i, k));
      }
      int64_t failed = 0;
      for (int64_t k = 0; k < n; ++k) {
        if (pace.Stop(n * n)) return absl::OkStatus();
        const int64_t pivot = PivotRow(m, n, k);
        SwapRows(m, n, pivot, k);
        std::swap(places[pivot], places[k]);
        T* const row = m + k * n;
        if (row[k] == T(0) && failed == 0) failed = k + 1;
        const T scale = T(1) / row[k];
        row[k] = T(1);
        for (int64_t j = 0; j < n; ++j) row[j] *= scale;
        for (int64_t i = 0; i < n; ++i) {
          const T factor = m[i * n + k];
          if (i == k || factor == T(0)) continue;
          m[i * n + k] = T(0);
          Eliminate(row, factor, n, m + i * n);
        }
      }
      if (failed != 0 && call.check_errors) return Failed(failed);
      write_info(info_at, failed);
      for (int64_t k = 0; k < n; ++k) {
        const auto column = static_cast<int64_t>(std::real(places[k]));
        for (int64_t i = 0; i < n; ++i) write(to(i, column), m[i * n + k]);
      }
      return absl::OkStatus();
    });
  });
}

// The info code is the order of the first leading minor that is not positive; the rest of the
// factor is then unspecified.
absl::Status Cholesky(KernelContext& context, const FactorCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  const bool upper = call.upper;
  ABSL_ASSIGN_OR_RETURN(const Dims<CheckedInt> batch, call.Batch());
  ABSL_ASSIGN_OR_RETURN(const TensorView* out, OutputOf(context, 0, a->dtype, *a));
  ABSL_ASSIGN_OR_RETURN(const TensorView* info, OutputOf(context, 1, DType::kInt32, batch));
  const int64_t n = a->sizes.back();
  return WithFactorType(a->dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    ABSL_ASSIGN_OR_RETURN(T* const l, ScratchArray<T>(context, CheckedInt(n) * n));
    Budget::Pace pace;
    const Reader<T> read(*a);
    const Writer<T> write(*out);
    const Writer<int64_t> write_info(*info);
    return ForEachMatrix(*a, *out, *info, [&](Place in, Place to, int64_t info_at) {
      int64_t failed = 0;
      for (int64_t k = 0; k < n; ++k) {
        if (pace.Stop((n - k) * (k + 1))) return absl::OkStatus();
        for (int64_t i = 0; i < n; ++i) {
          if (i < k) {
            l[i * n + k] = 0;
            continue;
          }
          // Reads only the triangle that the caller specifies.
          T sum = upper ? Conjugate(read(in(k, i))) : read(in(i, k));
          for (int64_t j = 0; j < k; ++j) sum -= l[i * n + j] * Conjugate(l[k * n + j]);
          if (i == k) {
            if (!(std::real(sum) > 0) && failed == 0) failed = k + 1;
            l[k * n + k] = std::sqrt(std::real(sum));
          } else {
            l[i * n + k] = sum / l[k * n + k];
          }
        }
      }
      if (failed != 0 && call.check_errors) return Failed(failed);
      write_info(info_at, failed);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n; ++k) {
          write(to(i, k), upper ? Conjugate(l[k * n + i]) : l[i * n + k]);
        }
      }
      return absl::OkStatus();
    });
  });
}

// Computes the determinant by LU factorization with row pivoting, which is also returned. As in
// PyTorch, it is that of the transposed matrix if the input is real and contiguous. Pivots count
// rows from 1.
absl::Status Det(KernelContext& context, const FactorCall<KernelArguments>& call) {
  const TensorView* const a = call.a;
  ABSL_ASSIGN_OR_RETURN(Dims<CheckedInt> shape, call.Batch());
  ABSL_ASSIGN_OR_RETURN(const TensorView* det, OutputOf(context, 0, a->dtype, shape));
  ABSL_ASSIGN_OR_RETURN(const TensorView* lu, OutputOf(context, 1, a->dtype, *a));
  const int64_t n = a->sizes.back();
  shape.push_back(n);
  ABSL_ASSIGN_OR_RETURN(const TensorView* pivots, OutputOf(context, 2, DType::kInt32, shape));
  const bool transpose = a->is_contiguous() && !IsComplex(a->dtype);
  return WithFactorType(a->dtype, [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    ABSL_ASSIGN_OR_RETURN(T* const m, ScratchArray<T>(context, CheckedInt(n) * n));
    const Reader<T> read(*a);
    const Writer<T> write(*lu), write_det(*det);
    const Writer<int64_t> write_pivot(*pivots);
    const int64_t pivot_step = pivots->strides.back();
    Budget::Pace pace;
    StridedIterator<1> det_at(det->sizes, {det->strides});  // one per matrix
    return ForEachMatrix(*a, *lu, *pivots, [&](Place in, Place to, int64_t pivots_at) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n; ++k) m[i * n + k] = transpose ? read(in(k, i)) : read(in(i, k));
      }
      T product = 1;
      for (int64_t k = 0; k < n; ++k) {
        if (pace.Stop((n - k) * (n - k))) return absl::OkStatus();
        const int64_t pivot = PivotRow(m, n, k);
        SwapRows(m, n, pivot, k);
        write_pivot(pivots_at + k * pivot_step, pivot + 1);
        product *= pivot == k ? m[k * n + k] : -m[k * n + k];
        if (m[k * n + k] == T(0)) continue;
        for (int64_t i = k + 1; i < n; ++i) {
          m[i * n + k] /= m[k * n + k];
          for (int64_t j = k + 1; j < n; ++j) m[i * n + j] -= m[i * n + k] * m[k * n + j];
        }
      }
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < n; ++k) write(to(i, k), m[i * n + k]);
      }
      write_det(det_at.offset(0), product);
      det_at.Next();
      return absl::OkStatus();
    });
  });
}

constexpr KernelEngine kReference = KernelEngine::kReference;

constexpr Kernel kKernels[] = {
    KernelRow<&Inverse, nullptr, &MatrixScratchBytes>("aten.linalg_inv_ex.default",
                                                      "A check_errors -> 2", "Inverse", kReference),
    KernelRow<&Cholesky, nullptr, &MatrixScratchBytes>(
        "aten.linalg_cholesky_ex.default", "self upper check_errors -> 2", "Cholesky", kReference),
    KernelRow<&Det, nullptr, &MatrixScratchBytes>("aten._linalg_det.default", "A -> 3", "Det",
                                                  kReference),
};

}  // namespace

absl::Span<const Kernel> FactorizationKernels() { return kKernels; }

}  // namespace belay
